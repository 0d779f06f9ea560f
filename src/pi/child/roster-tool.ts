/** `shepherd_roster`: who else is there, and how far the child's own questions and messages came. */
import { z } from 'zod';
import { MailboxError } from '../../errors.ts';
import { SHEPHERD_ID } from '../../ids.ts';
import type { ChildMailbox } from '../../mailbox/child-mailbox.ts';
import { defineTool, type DocumentedTool } from '../tools/define-tool.ts';
import { askShepherd } from './ask-shepherd.ts';

/** The Shepherd's answer; what a newer Shepherd adds is passed on, and not told. */
const rosterSchema = z.looseObject({
  you: z.looseObject({ id: z.string(), name: z.string() }),
  agents: z.array(
    z.looseObject({
      id: z.string(),
      name: z.string(),
      purpose: z.string(),
      state: z.string(),
      /** Of its task that has not settled. */
      taskState: z.string().optional(),
    }),
  ),
  /** Open ones that this agent asked or was asked. */
  questions: z.array(
    z.looseObject({
      requestId: z.string(),
      askedOf: z.string().optional(),
      askedBy: z.string().optional(),
      /** Epoch ms. */
      deadlineAtMs: z.number(),
    }),
  ),
  /** Its own latest ones, oldest first. */
  messages: z.array(z.looseObject({ messageId: z.string(), to: z.string(), receipt: z.string() })),
});
type Roster = z.infer<typeof rosterSchema>;

export interface RosterToolOptions {
  readonly mailbox: () => ChildMailbox | undefined;
}

/** Creates the tool; without an answer within 2 s it fails with `broker_unavailable`. */
export function createRosterTool({ mailbox }: RosterToolOptions): DocumentedTool {
  return defineTool({
    name: 'shepherd_roster',
    label: 'Roster',
    description:
      'Who else is in the herd: names, what each is for and what it is doing; your open questions, and how far your latest messages came. For a look, not for waiting: a reply wakes you.',
    promptSnippet: 'See who is in the herd, and how far your messages came',
    promptGuidelines: [
      'Before you write to an agent whose name you do not know, call shepherd_roster. shepherd_message takes a name from it (as "planner", "plan" or "planner: plan") as well as an id.',
    ],
    parameters: z.object({}),
    documentation: {
      result: {
        you: '`id` and `name` of this agent.',
        agents: '`id`, `name`, `purpose`, `state`, `taskState` of each other agent.',
        questions: 'Open ones: `requestId`, `askedOf` or `askedBy`, `deadlineAtMs`.',
        messages: 'Its own latest ones: `messageId`, `to`, `receipt`.',
      },
      errors: ['superseded', 'broker_unavailable'],
    },
    async run(_parameters, { signal }) {
      const draft = { kind: 'roster', targetId: SHEPHERD_ID } as const;
      const { data } = await askShepherd(mailbox(), draft, signal);
      if (data === undefined) {
        throw new MailboxError(
          'broker_unavailable',
          'The Shepherd has not answered in time; nothing is known of the others now. Try again later.',
          { retryable: true },
        );
      }
      const roster = rosterSchema.parse(data);
      return { text: rosterText(roster), details: roster };
    },
  });
}

function rosterText({ you, agents, questions, messages }: Roster): string {
  const others = agents.map(
    ({ id, name, purpose, state, taskState }) =>
      `${name} (${id}), ${state}${taskState === undefined ? '' : `, task ${taskState}`}: ${purpose}`,
  );
  const open = questions.map(({ requestId, askedOf, askedBy, deadlineAtMs }) => {
    const wait =
      askedOf === undefined ? `${askedBy ?? 'somebody'} waits for you` : `you wait for ${askedOf}`;
    return `${requestId}: ${wait}, until ${new Date(deadlineAtMs).toISOString()}`;
  });
  const sent = messages.map(({ messageId, to, receipt }) => `${messageId} to ${to}: ${receipt}`);
  return [
    `You are ${you.name} (${you.id}).`,
    section(agents.length === 0 ? 'No other agent is here.' : 'The others:', others),
    'The Shepherd is "shepherd".',
    ...(open.length === 0 ? [] : [section('Open questions:', open)]),
    ...(sent.length === 0 ? [] : [section('Your latest messages, oldest first:', sent)]),
  ].join('\n\n');
}

function section(title: string, lines: readonly string[]): string {
  return [title, ...lines.map((line) => `- ${line}`)].join('\n');
}
