import { describe } from 'vitest';
import { hasTmux } from '../tui/has-tmux.ts';
import { describeHost } from './host-contract.ts';
import { makeTmuxBench } from './tmux-bench.ts';

describe.skipIf(!hasTmux)('with tmux', () => {
  describeHost('tmux', makeTmuxBench);
});
