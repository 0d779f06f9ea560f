/** Tests drive Pi with the same client as the demo. */
export { startPiRpc } from '../../src/cli/demo/pi-rpc.ts';
