/** The numbered invariants of a machine, from the comment that its file opens with. */
import { readFileSync } from 'node:fs';

export interface Invariant {
  /** `T1` */
  readonly id: string;
  readonly text: string;
}

export interface MachineNotes {
  /** What it owns, and what it never does. */
  readonly about: string;
  readonly invariants: readonly Invariant[];
}

export function notesOf(name: string): MachineNotes {
  const source = readFileSync(new URL(`../machines/${name}.ts`, import.meta.url), 'utf8');
  const comment = /^\/\*\*\n([\s\S]*?)\n \*\//.exec(source)?.[1] ?? '';
  const lines = comment.split('\n').map((line) => line.replace(/^ \* ?/, ''));
  const invariants: Invariant[] = [];
  const about: string[] = [];
  for (const line of lines) {
    const [, id, text = ''] = /^([A-Z]+\d+)\. (.*)$/.exec(line) ?? [];
    const last = invariants.at(-1);
    if (id !== undefined) invariants.push({ id, text });
    else if (last === undefined) about.push(line);
    else
      invariants[invariants.length - 1] = { ...last, text: `${last.text} ${line.trim()}`.trim() };
  }
  return { about: about.join(' ').replaceAll(/ {2,}/g, ' ').trim(), invariants };
}
