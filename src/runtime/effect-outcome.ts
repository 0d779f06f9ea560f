/** What the doing of an effect has come to. */
import type { CloseOutcome, PlaceRef } from '../hosts/host.ts';
import type { StallLook } from './stall-look.ts';

/** How an effect went; `error` ends it as well as success does. */
export type EffectOutcome =
  | {
      readonly ok: true;
      readonly place?: PlaceRef;
      readonly closed?: CloseOutcome;
      readonly look?: StallLook;
      /** The file of a note. */
      readonly note?: string;
    }
  | { readonly ok: false; readonly error: unknown };
