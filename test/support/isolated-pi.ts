/** Tests run Pi in the same isolated home as the demo. */
export * from '../../src/cli/demo/isolated-pi.ts';
