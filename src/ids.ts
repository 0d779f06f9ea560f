/**
 * Makers and schemas of the opaque ids.
 *
 * Alphabet is lower case letters and digits: ids become file names, also where case does not count.
 */
import { customAlphabet } from 'nanoid';
import { z } from 'zod';

const random = customAlphabet('0123456789abcdefghijklmnopqrstuvwxyz', 12);

export const agentIdSchema = z.string().regex(/^shepherd-agent-[0-9a-z]{12}$/);
export const taskIdSchema = z.string().regex(/^shepherd-task-[0-9a-z]{12}$/);
export const promptIdSchema = z.string().regex(/^shepherd-prompt-[0-9a-z]{12}$/);
/** Time-ordered within one sender: 9 digits of base36 epoch ms, 3 of a counter, 12 random. */
export const messageIdSchema = z.string().regex(/^shepherd-message-[0-9a-z]{24}$/);

/** The Shepherd's own address in envelopes; `parent` is accepted from people and models as well. */
export const SHEPHERD_ID = 'shepherd';

/** Makes the ids of one sender; passed in, so that tests and the model checker have their own. */
export interface IdMaker {
  agentId(): string;
  taskId(): string;
  promptId(): string;
  watchId(): string;
  /** @param nowMs epoch ms; a clock that steps back does not break the order. */
  messageId(nowMs: number): string;
  /** Time-ordered like message ids. */
  noticeId(nowMs: number): string;
  /** Time-ordered like message ids: effects happen in the order of their ids. */
  effectId(nowMs: number): string;
  /** Unguessable secret of one incarnation: 64 characters of the id alphabet. */
  secret(): string;
}

export interface IdMakerOptions {
  /** Source of `length` random characters of the id alphabet. Default: nanoid. */
  readonly random?: (length: number) => string;
}

/** Creates an id maker whose message ids rise in the order in which they are made. */
export function createIdMaker(options: IdMakerOptions = {}): IdMaker {
  const draw = options.random ?? random;
  let lastMs = 0;
  let counter = 0;

  /** Rises with every call, also within one millisecond and when the clock steps back. */
  function ordered(nowMs: number): string {
    if (nowMs > lastMs) {
      lastMs = nowMs;
      counter = 0;
    } else if (++counter === 36 ** 3) {
      lastMs += 1;
      counter = 0;
    }
    const time = lastMs.toString(36).padStart(9, '0');
    return `${time}${counter.toString(36).padStart(3, '0')}${draw(12)}`;
  }

  return {
    agentId: () => `shepherd-agent-${draw(12)}`,
    taskId: () => `shepherd-task-${draw(12)}`,
    promptId: () => `shepherd-prompt-${draw(12)}`,
    watchId: () => `shepherd-watch-${draw(12)}`,
    messageId: (nowMs) => `shepherd-message-${ordered(nowMs)}`,
    noticeId: (nowMs) => `shepherd-notice-${ordered(nowMs)}`,
    effectId: (nowMs) => `shepherd-effect-${ordered(nowMs)}`,
    secret: () => draw(64),
  };
}
