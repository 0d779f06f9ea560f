/**
 * Changes one setting in a settings file and leaves everything else in it as it was.
 *
 * W1. A file is replaced at once, by a file beside it: who reads meanwhile reads the old or the new one.
 * W2. A file that cannot be understood is never overwritten: somebody has to repair it first.
 */
import {
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { ConfigError } from '../errors.ts';
import { activatingKeys, problemOf } from './read.ts';

type Json = Record<string, unknown>;

/**
 * Writes a setting, or takes it out of the file when `value` is undefined.
 *
 * @param key as in `Settings`, or `retention.finishedTasks`, `retention.days`.
 * @throws ConfigError `invalid_setting` for a value that is not accepted, and for a file that cannot be
 * read, understood or written.
 */
export function writeSetting(file: string, key: string, value: unknown): void {
  if (value !== undefined) {
    const problem = problemOf(key, value);
    if (problem !== undefined) throw refusal(problem, { key, value });
  }
  const [whole = key, part] = key.split('.');
  change(file, (json) => {
    // Its older name, which would come back into force when this one is taken out.
    if (key === 'replyTimeout') delete json['timeout'];
    if (part === undefined) put(json, whole, value);
    else put(json, whole, withPart(json[whole], part, value));
  });
}

/**
 * Switches the project's file on or off; its settings stay in it.
 *
 * @throws ConfigError `invalid_setting` as `writeSetting`.
 */
export function activateProjectFile(file: string, isActive: boolean): void {
  const [scope, olderScope] = activatingKeys;
  change(file, (json) => {
    delete json[olderScope];
    json[scope] = isActive;
  });
}

function put(json: Json, key: string, value: unknown): void {
  if (value === undefined) delete json[key];
  else json[key] = value;
}

/** Undefined for nothing left. What is no object has no effect anyway, and is replaced. */
function withPart(whole: unknown, part: string, value: unknown): Json | undefined {
  const json = { ...objectSchema.safeParse(whole).data };
  put(json, part, value);
  return Object.keys(json).length === 0 ? undefined : json;
}

const objectSchema = z.record(z.string(), z.unknown());

function change(file: string, edit: (json: Json) => void): void {
  const json = readObject(file);
  edit(json);
  try {
    replace(file, `${JSON.stringify(json, null, 2)}\n`);
  } catch (cause) {
    throw refusal(`${file}: cannot be written: ${say(cause)}`, { file, cause });
  }
}

function readObject(file: string): Json {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
    if (code === 'ENOENT') return {};
    throw refusal(`${file}: cannot be read: ${say(cause)}`, { file, cause });
  }
  try {
    return { ...objectSchema.parse(JSON.parse(text.replace(/^\uFEFF/, ''))) };
  } catch (cause) {
    throw refusal(`${file}: is no object in JSON; repair it, or move it away, and try again`, {
      file,
      cause,
    });
  }
}

function replace(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  // What a link means is replaced, not the link.
  const there = statSync(file, { throwIfNoEntry: false });
  const target = there === undefined ? file : realpathSync(file);
  const beside = join(dirname(target), `.${basename(target)}.${process.pid}.tmp`);
  try {
    writeFileSync(beside, text, { mode: there === undefined ? 0o644 : there.mode & 0o777 });
    renameSync(beside, target);
  } catch (error) {
    rmSync(beside, { force: true });
    throw error;
  }
}

function refusal(
  message: string,
  { cause, ...data }: Readonly<Record<string, unknown>>,
): ConfigError {
  return new ConfigError('invalid_setting', message, { cause, data });
}

function say(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
