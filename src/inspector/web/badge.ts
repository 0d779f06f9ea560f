/** The state of an actor, as a word with a colour. */
import { h, type JSX } from 'preact';
import { toneOf } from './states.ts';

export function Badge({ label }: { readonly label: string }): JSX.Element {
  return h('span', { class: `badge ${toneOf(label)}` }, label);
}
