/** Where agents are to run, by the setting and by what this process itself runs in. */

export type HostKind = 'process' | 'tmux';

export interface HostChoice {
  readonly kind: HostKind;
  /** For people: why this one. */
  readonly why: string;
}

/** @param wanted the setting `host`. */
export function chooseHost(
  wanted: 'auto' | 'process' | 'tmux' | 'herdr',
  env: Readonly<Record<string, string | undefined>>,
): HostChoice {
  if (wanted === 'process' || wanted === 'tmux') {
    return { kind: wanted, why: `the setting host is ${wanted}` };
  }
  if (wanted === 'herdr') {
    return { kind: 'process', why: 'this version cannot run agents in Herdr' };
  }
  return (env['TMUX'] ?? '') === ''
    ? { kind: 'process', why: 'this is no tmux' }
    : { kind: 'tmux', why: 'this runs inside tmux' };
}
