/** What a child's model reads of its task's note. */
import { expect, it } from 'vitest';
import type { EnvelopeOf } from '../../src/mailbox/envelope.ts';
import { envelopeText } from '../../src/pi/child/envelope-text.ts';

const task: EnvelopeOf<'task'> = {
  v: 1,
  sessionId: 'session-1',
  brokerId: 'broker-1',
  messageId: 'shepherd-message-0mdsnk1s0000a1b2c3d4e5f6',
  senderId: 'shepherd',
  targetId: 'shepherd-agent-7q2m9x4k1z0a',
  createdAt: 0,
  seq: 0,
  hops: 0,
  mac: '0'.repeat(64),
  kind: 'task',
  taskId: 'shepherd-task-3n8b5v1c7x2z',
  content: 'Count the sheep.',
};

it('names the note of a task, before what is to be done', () => {
  const text = envelopeText({ ...task, notePath: '/barn/notes/scout-01.md' });

  expect(text).toMatch(
    /\nNote: \/barn\/notes\/scout-01\.md \(if you can write.*\n\nCount the sheep\./,
  );
});

it('says nothing of a note where there is none', () => {
  expect(envelopeText(task)).not.toContain('Note:');
});
