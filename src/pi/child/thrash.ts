/** Notices a child that goes in circles: the same call, with the same arguments and the same result. */
import { createHash } from 'node:crypto';

/** So many times in a row are no coincidence. */
const noticedFrom = 5;

export interface ThrashWatch {
  started(callId: string, call: { readonly toolName: string; readonly args: unknown }): void;
  /** Returns what goes in circles, once for each circle. */
  ended(callId: string, result: unknown): string | undefined;
}

export function createThrashWatch(): ThrashWatch {
  const running = new Map<string, { readonly toolName: string; readonly args: unknown }>();
  let last = '';
  let times = 0;
  return {
    started(callId, call) {
      running.set(callId, call);
    },
    ended(callId, result) {
      const call = running.get(callId);
      running.delete(callId);
      if (call === undefined) return undefined;
      const mark = createHash('sha256')
        .update(textOf([call, result]))
        .digest('hex');
      times = mark === last ? times + 1 : 1;
      last = mark;
      if (times !== noticedFrom) return undefined;
      return `${call.toolName} ${textOf(call.args)}, ${times} times in a row with the same result`;
    },
  };
}

function textOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? '';
  } catch {
    return String(value);
  }
}
