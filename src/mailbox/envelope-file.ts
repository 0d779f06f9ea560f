/**
 * Reads one file as an envelope and says what it is, by itself and in its box.
 *
 * Owns the judgement. Moving the file is the inbox's work, and what a box expects of a valid envelope
 * is `capability.ts`.
 *
 * F1. No content of a file makes it throw.
 * F2. A failed call is never `bad`: the file may be fine. Only what can no longer become an envelope
 *     is `bad`; text that may be the beginning of one is `partial`.
 * F3. Symlinks, directories and pipes are not followed, entered or opened.
 * F4. The same content under an id that lies in `cur`, `done` or `dead` is a repeat, another content
 *     is bad (`duplicate_conflict`).
 */
import { isUtf8 } from 'node:buffer';
import { basename, join } from 'node:path';
import { ShepherdError, type MailboxError } from '../errors.ts';
import { contentHash, parseEnvelope, toWellFormed, type Envelope } from './envelope.ts';
import type { Refusal } from './capability.ts';
import { fileNameOf, messageIdOf, type Box } from './layout.ts';
import { diskError, errnoOf, type MailFs } from './mail-fs.ts';

export type EnvelopeFile =
  | { readonly is: 'valid'; readonly envelope: Envelope }
  | { readonly is: 'missing' }
  /** Maybe still being written; whoever waits long enough calls it bad. */
  | { readonly is: 'partial'; readonly refusal: Refusal }
  | { readonly is: 'unreadable'; readonly error: MailboxError }
  | { readonly is: 'bad'; readonly refusal: Refusal };

export interface ReadOptions {
  readonly fs: MailFs;
  readonly maxEnvelopeBytes: number;
}

export interface JudgeOptions extends ReadOptions {
  readonly box: Box;
  /** Says why a valid envelope does not belong here; undefined: it does. */
  readonly refusalOf: (envelope: Envelope) => Refusal | undefined;
}

/** Reads a file of this box and compares it with what the box takes and has; never throws. */
export function judgeEnvelopeFile(
  path: string,
  options: JudgeOptions,
): EnvelopeFile | { readonly is: 'repeat' } {
  const file = readEnvelopeFile(path, options);
  if (file.is !== 'valid') return file;
  const { envelope } = file;
  let refusal: Refusal | undefined;
  try {
    refusal = options.refusalOf(envelope);
  } catch (error) {
    // Nested so deep that making its sorted-key JSON overflows the stack.
    return bad('invalid_envelope', String(error));
  }
  if (refusal !== undefined) return { is: 'bad', refusal };

  const { cur, done, dead } = options.box;
  for (const dir of [cur, done, dead]) {
    const earlierPath = join(dir, fileNameOf(envelope.messageId));
    if (earlierPath === path) continue;
    const earlier = readEnvelopeFile(earlierPath, options);
    if (earlier.is === 'unreadable') return earlier;
    if (earlier.is !== 'valid') continue;
    if (contentHash(earlier.envelope) === contentHash(envelope)) return { is: 'repeat' };
    return bad('duplicate_conflict', `${envelope.messageId} came before with another content.`);
  }
  return { is: 'valid', envelope: toWellFormed(envelope) };
}

/** Reads the file at `path`, wherever it lies; never throws. */
export function readEnvelopeFile(path: string, options: ReadOptions): EnvelopeFile {
  const { fs, maxEnvelopeBytes } = options;
  let bytes: Buffer;
  try {
    const found = fs.lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) return { is: 'missing' };
    if (messageIdOf(basename(path)) === undefined) {
      return bad('invalid_envelope', 'The file name is not a message id with `.json`.');
    }
    if (!found.isFile()) return bad('invalid_envelope', 'It is not a regular file.');
    if (found.size > maxEnvelopeBytes) return tooLarge(found.size, maxEnvelopeBytes);
    bytes = fs.readFileSync(path);
  } catch (cause) {
    if (errnoOf(cause) === 'ENOENT') return { is: 'missing' };
    return { is: 'unreadable', error: diskError('read', path, cause) };
  }
  if (bytes.length > maxEnvelopeBytes) return tooLarge(bytes.length, maxEnvelopeBytes);
  return judge(bytes, basename(path));
}

function judge(bytes: Buffer, fileName: string): EnvelopeFile {
  if (!isUtf8(bytes)) return partialOrBad(bytes, 'It is not UTF-8.');
  const text = bytes.toString('utf8');
  let envelope: Envelope;
  try {
    envelope = parseEnvelope(text);
  } catch (error) {
    return ShepherdError.is(error) && error.cause instanceof SyntaxError
      ? partialOrBad(bytes, notJson(text))
      : bad('invalid_envelope', error instanceof Error ? error.message : String(error));
  }
  if (fileName !== fileNameOf(envelope.messageId)) {
    return bad('invalid_envelope', `messageId is ${envelope.messageId}, the file name another.`);
  }
  return { is: 'valid', envelope };
}

function notJson(text: string): string {
  if (text === '') return 'It is empty.';
  return text.startsWith('\uFEFF') ? 'It begins with a byte order mark.' : 'It is not JSON.';
}

/** An envelope is an object: what begins with anything but `{` cannot become one. */
function partialOrBad(bytes: Buffer, reason: string): EnvelopeFile {
  const refusal: Refusal = { code: 'invalid_envelope', reason };
  return bytes.length === 0 || bytes[0] === 0x7b
    ? { is: 'partial', refusal }
    : { is: 'bad', refusal };
}

function tooLarge(bytes: number, maxEnvelopeBytes: number): EnvelopeFile {
  return bad(
    'message_too_large',
    `It has ${String(bytes)} bytes; at most ${String(maxEnvelopeBytes)} are taken.`,
  );
}

function bad(code: Refusal['code'], reason: string): EnvelopeFile {
  return { is: 'bad', refusal: { code, reason } };
}
