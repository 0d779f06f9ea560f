/** Where agents are to run, by the setting and by what this process itself runs in. */

export type HostKind = 'process' | 'tmux' | 'herdr';

export interface HostChoice {
  readonly kind: HostKind;
  /** For people: why this one. */
  readonly why: string;
}

const places: Readonly<Record<HostKind, string>> = {
  process: 'as processes in the background',
  tmux: 'in tmux',
  herdr: 'in Herdr',
};

/** As in `in tmux: this runs inside tmux`. */
export const describeHost = ({ kind, why }: HostChoice): string => `${places[kind]}: ${why}`;

/** @param wanted the setting `host`. */
export function chooseHost(
  wanted: 'auto' | HostKind,
  env: Readonly<Record<string, string | undefined>>,
): HostChoice {
  if (wanted !== 'auto') return { kind: wanted, why: `the setting host is ${wanted}` };
  const has = (name: string): boolean => (env[name] ?? '') !== '';
  // First: its socket can be reached from within tmux, too.
  if (has('HERDR_ENV') && has('HERDR_SOCKET_PATH')) {
    return { kind: 'herdr', why: 'this runs inside Herdr' };
  }
  if (has('TMUX')) return { kind: 'tmux', why: 'this runs inside tmux' };
  return { kind: 'process', why: 'this is neither Herdr nor tmux' };
}
