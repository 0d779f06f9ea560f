/**
 * Argument shapes of the predecessor, and of models that quote once too often, made into ours.
 *
 * Pi calls it before it validates. It changes only what can mean one thing; everything else is left
 * for the schema to refuse.
 *
 * - A key that was renamed becomes the one that replaced it, unless that is there as well.
 * - An id that is itself JSON is unpacked: `"\"x\""`, `["x"]`, `"[\"x\",\"y\"]"`, `{"id":"x"}`.
 * - A number in quotes becomes a number, where the schema wants one.
 * - A key that the predecessor ignored is dropped.
 */
import { z } from 'zod';

export interface LegacyKeys {
  /** The parameter that names whom or what the tool is about; it takes what `handle` was given. */
  readonly address?: string;
  /** More spellings of the address. */
  readonly aliases?: readonly string[];
  /** Whether the address may be several ids. Default false: a list of one is unpacked. */
  readonly several?: boolean;
  /** Parameters that hold ids besides the address. */
  readonly ids?: readonly string[];
  /** Parameters that mean nothing any more. */
  readonly ignored?: readonly string[];
}

/** Creates what Pi calls with a tool's raw arguments; what is no object is returned as it is. */
export function createNormaliser(
  parameters: z.ZodObject,
  { address, aliases = [], several = false, ids = [], ignored = [] }: LegacyKeys,
): (raw: unknown) => unknown {
  const numbers = Object.entries(parameters.shape).flatMap(([name, schema]) =>
    takesNumber(schema) ? [name] : [],
  );
  return (raw) => {
    if (!isObject(raw)) return raw;
    const given = { ...raw };
    for (const name of ignored) delete given[name];
    if (address !== undefined) {
      for (const alias of ['handle', ...aliases]) {
        if (!(alias in given)) continue;
        given[address] ??= given[alias];
        delete given[alias];
      }
      if (address in given) given[address] = unpackId(given[address], several);
    }
    for (const name of ids) if (name in given) given[name] = unpackId(given[name], false);
    for (const name of numbers) given[name] = toNumber(given[name]);
    return withoutUndefined(given);
  };
}

/** An id out of whatever it was wrapped in; a wrapping that is not understood stays. */
function unpackId(value: unknown, several: boolean): unknown {
  const unquoted = typeof value === 'string' ? unquote(value) : value;
  if (Array.isArray(unquoted)) {
    const list = unquoted.map((one: unknown) => unpackId(one, false));
    return several || list.length !== 1 ? list : list[0];
  }
  if (!isObject(unquoted)) return unquoted;
  return typeof unquoted['id'] === 'string' ? unquoted['id'] : value;
}

/** What a text says when it is a JSON text, list or object; any other text is itself. */
function unquote(text: string): unknown {
  const trimmed = text.trim();
  if (!/^(".*"|\[.*\]|\{.*\})$/s.test(trimmed)) return text;
  try {
    return JSON.parse(trimmed) as unknown;
  } catch {
    // A label may well be in brackets.
    return text;
  }
}

function toNumber(value: unknown): unknown {
  if (typeof value !== 'string' || value.trim() === '') return value;
  const number = Number(value);
  return Number.isNaN(number) ? value : number;
}

function takesNumber(schema: unknown): boolean {
  if (schema instanceof z.ZodOptional) return takesNumber(schema.unwrap());
  return schema instanceof z.ZodNumber;
}

function withoutUndefined(given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
