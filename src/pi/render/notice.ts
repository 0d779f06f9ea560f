/** How notices look in Pi's transcript. Their text may come from a child: nothing in it is obeyed. */
import type { ExtensionAPI, MessageRenderer } from '@earendil-works/pi-coding-agent';
import { drawn } from './component.ts';
import { noticeParts, type NoticeParts } from './notice-parts.ts';
import { columns, cut, wrap } from './text.ts';

/** What a notice takes until it is expanded. */
const collapsedLines = 2;

/** Registers a renderer for every kind of notice that the parent's session gets. */
export function registerNoticeRenderers(pi: Pick<ExtensionAPI, 'registerMessageRenderer'>): void {
  for (const [kind, read] of Object.entries(noticeParts)) {
    pi.registerMessageRenderer(kind, createRenderer(read));
  }
}

/** Two lines say what happened; expanded, it is all that the model reads, and the facts besides. */
function createRenderer(read: (text: string, details: unknown) => NoticeParts): MessageRenderer {
  return ({ content, details }, options, theme) => {
    const { expanded, outputPad } = options;
    const text = typeof content === 'string' ? content : '';
    const parts = read(text, details);
    const heading = (line: string): string => theme.fg('accent', theme.bold(line));
    const body = (line: string): string => theme.fg('customMessageText', line);
    const dim = (line: string): string => theme.fg('dim', line);

    function expand(room: number): string[] {
      const { title, facts } = parts;
      const besides = facts.flatMap((fact) => wrap(fact, room));
      return [
        heading(cut(title, room)),
        ...wrap(text, room).map(body),
        ...(besides.length === 0 ? [] : ['', ...besides.map(dim)]),
      ];
    }

    function collapse(room: number): string[] {
      const { headline, gist } = parts;
      const head = headline === '' ? [] : [heading(cut(headline, room))];
      const said = wrap(gist.trim(), room).slice(0, collapsedLines - head.length);
      // A plain notice that fits has no more to show.
      if (headline === '' && wrap(text, room).length <= collapsedLines) return said.map(body);
      const hint = cut(`… ${options.keyHint('app.tools.expand', 'for all')}`, room);
      const last = cut(said.pop() ?? '', Math.max(0, room - columns(hint) - 1));
      return [...head, ...said.map(body), `${body(last)}${last === '' ? '' : ' '}${dim(hint)}`];
    }

    return drawn((width) => {
      const room = Math.max(1, width - 2 * outputPad);
      const lines = expanded ? expand(room) : collapse(room);
      return lines.map((line) => ' '.repeat(outputPad) + line);
    });
  };
}
