/**
 * What a notice says at a glance, and what it has besides the text that the model reads.
 *
 * Taken from its details. Those of another version, or of somebody else, are passed over: the text is
 * always enough.
 */
import { z } from 'zod';
import type { Notice } from '../../runtime/shepherd.ts';

export interface NoticeParts {
  /** Of what kind it is. */
  readonly title: string;
  /** Who and what; empty when the text alone says it. */
  readonly headline: string;
  /** What matters most in it. */
  readonly gist: string;
  /** Facts that the text does not have. */
  readonly facts: readonly string[];
}

const resultsSchema = z.object({
  results: z.array(
    z.looseObject({
      agent: z.string(),
      status: z.string(),
      summary: z.string().optional(),
      text: z.string().optional(),
      error: z.string().optional(),
      override: z.string().optional(),
      evidence: z.object({ turns: z.number(), toolCalls: z.number() }).optional(),
      lateEvents: z
        .array(z.object({ kind: z.string(), fromId: z.string(), text: z.string() }))
        .default([]),
      attempts: z.array(z.unknown()).default([]),
    }),
  ),
});
type ShownResult = z.output<typeof resultsSchema>['results'][number];

const messageSchema = z.object({ sender: z.string(), expectsReply: z.boolean() });

const waitSchema = z.object({
  agentName: z.string(),
  recipientName: z.string(),
  elapsedMs: z.number(),
  question: z.string(),
});

const stallSchema = z.object({ agentName: z.string() });

type ReadParts = (text: string, details: unknown) => NoticeParts;

/** How each kind of notice is read; what is no kind of ours has no entry. */
export const noticeParts: Readonly<Record<Notice['kind'], ReadParts>> = {
  'shepherd.task.completion': (text, details) => settled('Task settled', text, details),
  'shepherd.prompt.completion': (text, details) => settled('Prompted turn over', text, details),
  'shepherd.message.incoming': (text, details) => message('Message', text, details),
  'shepherd.message.reply': (text, details) => message('Reply', text, details),
  'shepherd.stale.wait': staleWait,
  'shepherd.stall': stall,
  'shepherd.notice': (text) => ({ ...bare('Shepherd', text), headline: '' }),
};

function bare(title: string, text: string): NoticeParts {
  return { title, headline: title, gist: text, facts: [] };
}

function settled(title: string, text: string, details: unknown): NoticeParts {
  const results = resultsSchema.safeParse(details).data?.results ?? [];
  const [first] = results;
  if (first === undefined) return bare(title, text);
  const who = results.map(({ agent, status }) => `${agent} ${status}`).join(', ');
  return {
    title,
    headline: `${title}: ${who}`,
    gist: firstLine(first.error ?? first.summary ?? first.text ?? ''),
    facts: results.flatMap(factsOf),
  };
}

function factsOf(result: ShownResult): readonly string[] {
  const { agent, evidence, attempts, override, lateEvents } = result;
  const work = [
    ...(evidence === undefined
      ? []
      : [count(evidence.turns, 'turn'), count(evidence.toolCalls, 'tool call')]),
    ...(attempts.length > 1 ? [`${attempts.length} children, one after the other`] : []),
  ];
  return [
    ...(work.length === 0 ? [] : [`${agent}: ${work.join(', ')}`]),
    ...(override === undefined ? [] : [`Completed with a question open: ${override}`]),
    ...lateEvents.map(
      ({ kind, fromId, text }) =>
        `Late, without effect: ${kind === 'reply' ? 'a reply' : 'a result'} of ${fromId}: ${text}`,
    ),
  ];
}

const count = (number: number, of: string): string => `${number} ${of}${number === 1 ? '' : 's'}`;

function message(title: string, text: string, details: unknown): NoticeParts {
  const read = messageSchema.safeParse(details).data;
  if (read === undefined) return bare(title, text);
  const kind = read.expectsReply && title === 'Message' ? 'Question' : title;
  // The ids stand above the first blank line.
  const content = text.slice(text.indexOf('\n\n') + 2);
  return { title: kind, headline: `${kind} from ${read.sender}`, gist: content, facts: [] };
}

function staleWait(text: string, details: unknown): NoticeParts {
  const title = 'Still waiting';
  const read = waitSchema.safeParse(details).data;
  if (read === undefined) return bare(title, text);
  const { agentName, recipientName, elapsedMs, question } = read;
  const minutes = Math.floor(elapsedMs / 60_000);
  const headline = `${title}: ${agentName}, ${minutes} min for ${recipientName}`;
  return { title, headline, gist: question, facts: [] };
}

function stall(text: string, details: unknown): NoticeParts {
  const title = 'Stalled';
  const read = stallSchema.safeParse(details).data;
  if (read === undefined) return bare(title, text);
  return { title, headline: `${title}: ${read.agentName}`, gist: text, facts: [] };
}

const firstLine = (text: string): string =>
  text.split('\n').find((line) => line.trim() !== '') ?? '';
