/** Cutting a text so that an envelope can carry it beside what it has to carry. */
import type { Limits } from '../../mailbox/limits.ts';

/** How much a text may take. */
export interface Room {
  /** Code points. */
  readonly characters: number;
  /** As the text takes in JSON. */
  readonly bytes: number;
}

/** Ids, instants, counts and the MAC of an envelope; measured below 900 bytes. */
const headBytes = 2_048;

/** What an envelope has left for a text that may be cut, beside texts that may not. */
export function roomBeside(limits: Limits, ...texts: readonly (string | undefined)[]): Room {
  const taken = texts.reduce((sum, text) => sum + (text === undefined ? 0 : jsonBytes(text)), 0);
  return {
    characters: limits.maxContentCharacters,
    bytes: limits.maxEnvelopeBytes - headBytes - taken,
  };
}

/** The longest beginning of a text that fits, never half of a character. */
export function cutText(text: string, room: Room): string {
  let bytes = 0;
  let count = 0;
  let end = 0;
  for (const character of text) {
    bytes += jsonBytes(character);
    count += 1;
    if (count > room.characters || bytes > room.bytes) break;
    end += character.length;
  }
  return text.slice(0, end);
}

/** Escapes count: a newline takes two bytes, a control character six. */
function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2;
}
