import { describe } from 'vitest';
import { hasTmux } from '../../tui/has-tmux.ts';
import { describeHost } from '../host-contract.ts';
import { makeHerdrBench } from './herdr-bench.ts';

describe.skipIf(!hasTmux)('with our stand-in for Herdr', () => {
  describeHost('herdr', () => makeHerdrBench());
});
