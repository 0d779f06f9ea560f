/** How notices look in Pi's transcript. Their text may come from a child: nothing in it is obeyed. */
import type { ExtensionAPI, MessageRenderer } from '@earendil-works/pi-coding-agent';
import type { Notice } from '../../runtime/shepherd.ts';
import { wrap } from './text.ts';

const titles: Readonly<Record<Notice['kind'], string>> = {
  'shepherd.task.completion': 'Task settled',
  'shepherd.prompt.completion': 'Prompted turn over',
  'shepherd.message.incoming': 'Message',
  'shepherd.message.reply': 'Reply',
  'shepherd.stale.wait': 'Still waiting',
  'shepherd.stall': 'Stalled',
  'shepherd.notice': 'Shepherd',
};

const collapsedLines = 6;

/** Registers a renderer for every kind of notice that the parent's session gets. */
export function registerNoticeRenderers(pi: Pick<ExtensionAPI, 'registerMessageRenderer'>): void {
  for (const [kind, title] of Object.entries(titles)) {
    pi.registerMessageRenderer(kind, createRenderer(title));
  }
}

/** Draws a title and the text; a long text is cut until it is expanded. */
function createRenderer(title: string): MessageRenderer {
  return ({ content }, options, theme) => {
    const { expanded, outputPad } = options;
    const text = typeof content === 'string' ? content : '';
    return {
      invalidate: () => undefined,
      render(width) {
        const room = Math.max(1, width - 2 * outputPad);
        const lines = wrap(text, room);
        const shown = expanded ? lines : lines.slice(0, collapsedLines);
        const more = `… ${options.keyHint('app.tools.expand', 'for all')}`;
        return [
          theme.fg('accent', theme.bold(wrap(title, room)[0] ?? '')),
          ...shown.map((line) => theme.fg('customMessageText', line)),
          ...(shown.length < lines.length ? [theme.fg('dim', wrap(more, room)[0] ?? '')] : []),
        ].map((line) => ' '.repeat(outputPad) + line);
      },
    };
  };
}
