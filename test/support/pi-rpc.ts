/** Tests drive Pi with the same client as the demo. */
export { startPiRpc, type PiRpc } from '../../src/cli/demo/pi-rpc.ts';
