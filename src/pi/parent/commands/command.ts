/** `/shepherd`: finds the verb, runs it, and shows what it says. */
import type {
  ExtensionAPI,
  ExtensionCommandContext,
  ExtensionContext,
} from '@earendil-works/pi-coding-agent';
import { nearestFirst } from '../../../agents/nearest.ts';
import { ConfigError, describeError } from '../../../errors.ts';
import { registerReportRenderer, reportEntry } from '../../render/report.ts';
import { plain } from '../../render/text.ts';
import type { SessionHerd } from '../herd-of-session.ts';
import { createInspection } from '../inspection.ts';
import { firstWord, type CommandPolicy, type CompletionScope, type Verb } from './verb.ts';
import { verbs } from './verbs.ts';

interface CommandPorts {
  readonly herd: SessionHerd;
  readonly policy: CommandPolicy;
}

/** Registers the command with its completion, and how a long answer is drawn. */
export function registerShepherdCommand(pi: ExtensionAPI, { herd, policy }: CommandPorts): void {
  let context: ExtensionContext | undefined;
  const inspection = createInspection();
  registerReportRenderer(pi);
  pi.on('session_start', (_event, ctx) => {
    context = ctx;
  });

  pi.on('session_shutdown', () => inspection.close());

  /** On a screen a long answer stands in the transcript, where no model reads it. */
  function show(text: string, title: string, ctx: ExtensionCommandContext): void {
    if (ctx.mode === 'tui' && text.includes('\n')) {
      pi.appendEntry(reportEntry, { title, text });
    } else {
      ctx.ui.notify(plain(text));
    }
  }

  pi.registerCommand('shepherd', {
    description: `leads the herd: ${verbs.map(({ name }) => name).join(', ')}`,
    getArgumentCompletions: (prefix) =>
      // Nothing waits for a herd that is only being opened.
      completions(prefix, () => ({ running: herd.atHand(), ctx: context, policy })),
    async handler(args, ctx) {
      const [word, rest] = firstWord(args);
      try {
        if (word === '' || word === 'help') {
          show(usage(), '/shepherd', ctx);
          return;
        }
        const verb = findVerb(word);
        const text = await verb.run({ rest, ctx, herd, policy, inspection });
        if (text !== undefined) show(text, `/shepherd ${verb.name}`, ctx);
      } catch (error) {
        ctx.ui.notify(plain(describeError(error)), 'error');
      }
    },
  });
}

function usage(): string {
  const rows = verbs.map(({ name, takes, summary, aliases = [] }) => {
    const also = aliases.length === 0 ? '' : ` (or ${aliases.join(', ')})`;
    return `  ${name}${takes === '' ? '' : ` ${takes}`}: ${summary}${also}`;
  });
  return ['Usage: /shepherd <verb>', ...rows].join('\n');
}

function findVerb(word: string): Verb {
  const found = verbs.find(({ name, aliases = [] }) => name === word || aliases.includes(word));
  if (found !== undefined) return found;
  const names = verbs.map(({ name }) => name);
  const [nearest = ''] = nearestFirst(word, names);
  throw new ConfigError(
    'invalid_argument',
    `/shepherd has no "${word}"; the nearest is ${nearest}. There is ${names.join(', ')}.`,
  );
}

/**
 * Verbs first, then what fits the verb; a value stands for everything behind `/shepherd`. What is written
 * out is offered no more: Enter would take the offer in place of sending the line.
 */
async function completions(prefix: string, scope: () => CompletionScope) {
  const [, word = '', blank = '', begun = ''] = /^\s*(\S*)(\s*)([\s\S]*)$/.exec(prefix) ?? [];
  if (blank === '') {
    const items = verbs
      .filter(({ name }) => name.startsWith(word) && name !== word)
      .map(({ name, takes, summary }) => ({
        value: takes === '' ? name : `${name} `,
        label: name,
        description: summary,
      }));
    return items.length === 0 ? null : items;
  }
  const verb = verbs.find(({ name, aliases = [] }) => name === word || aliases.includes(word));
  if (verb?.complete === undefined) return null;
  const wanted = begun.toLowerCase();
  const items = [...new Set(await verb.complete(scope()))]
    .filter((item) => beginsWith(item.toLowerCase(), wanted) && item.toLowerCase() !== wanted)
    .map((item) => ({ value: `${word} ${item}`, label: item }));
  return items.length === 0 ? null : items;
}

/** An agent is found by its label, too. */
const beginsWith = (item: string, wanted: string): boolean =>
  item.startsWith(wanted) || (wanted !== '' && item.includes(`: ${wanted}`));
