/** Whether tests with a terminal can run: on CI they must. */
import { execFileSync } from 'node:child_process';

export const hasTmux = ((): boolean => {
  if (process.env['CI'] !== undefined) return true;
  try {
    execFileSync('tmux', ['-V'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();
