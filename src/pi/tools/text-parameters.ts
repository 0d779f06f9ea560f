/** Texts that a model writes: blank where it means nothing, which is not the same as a mistake. */
import { z } from 'zod';

/** A text that has to say something. */
export const notBlank = z.string().refine((text) => text.trim() !== '', 'must not be blank');

/** An optional text. Models send `""` for what they leave out. */
export const blankIsNone = z
  .string()
  .optional()
  .transform((text) => (text?.trim() === '' ? undefined : text));
