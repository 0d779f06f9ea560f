/** Tests script the model with the demo's server. */
export * from '../../src/cli/demo/scripted-model.ts';
