/**
 * `.devloops`: the part of another tool's configuration that says whether and when a child has stalled.
 *
 * Reads that one family of keys and says, with line and key, what is wrong with it; everything else in
 * the file is somebody else's.
 */
import { readFileSync, statSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { isMap, LineCounter, parseDocument, type Document } from 'yaml';
import { z } from 'zod';
import { ConfigError, describeError } from '../errors.ts';

export interface StallDetectionConfig {
  readonly enabled: boolean;
  readonly thresholdMinutes: number;
}

const stallDetectionSchema = z.strictObject({
  enabled: z.boolean().optional(),
  thresholdMinutes: z.int().min(1).optional(),
});

const families = { stallDetection: { enabled: true, thresholdMinutes: 5 } } as const;

/**
 * The values of one family of the `workflow` part, each missing one with its default.
 *
 * @throws ConfigError `invalid_setting` for a family that there is not, or values that it does not take.
 */
export function resolveWorkflowConfig(config: unknown, family: string): StallDetectionConfig {
  if (family !== 'stallDetection') {
    throw new ConfigError(
      'invalid_setting',
      `There is no workflow setting "${family}"; known: ${Object.keys(families).join(', ')}.`,
      { data: { family } },
    );
  }
  const parsed = stallDetectionSchema.safeParse(valueAt(config, ['workflow', family]) ?? {});
  if (!parsed.success) {
    throw new ConfigError('invalid_setting', z.prettifyError(parsed.error), {
      data: { family },
    });
  }
  const { enabled, thresholdMinutes } = parsed.data;
  return {
    enabled: enabled ?? families.stallDetection.enabled,
    thresholdMinutes: thresholdMinutes ?? families.stallDetection.thresholdMinutes,
  };
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (inner, key) =>
      typeof inner === 'object' && inner !== null ? Reflect.get(inner, key) : undefined,
    value,
  );
}

export interface WorkflowProblem {
  readonly path: string;
  /** From 1; undefined when the whole file is meant. */
  readonly line?: number;
  /** `workflow.stallDetection.thresholdMinutes` */
  readonly key?: string;
  readonly message: string;
}

export interface WorkflowConfig {
  /** The file that was read; undefined when there is none. */
  readonly path: string | undefined;
  /** What is written in it; a broken value is left out, and is one of the problems. */
  readonly stallDetection: Partial<StallDetectionConfig>;
  readonly problems: readonly WorkflowProblem[];
}

const fileNames = ['.devloops', '.devloops.yaml', '.devloops.yml', '.devloops.json'];
const at = ['workflow', 'stallDetection'] as const;
const maxBytes = 1024 * 1024;

/**
 * Reads the first of `.devloops`, `.devloops.yaml`, `.yml`, `.json` in `root`.
 *
 * Never throws and never waits: what is no plain file, larger than 1 MiB or broken is one of the problems.
 */
export function readWorkflowConfig(root: string): WorkflowConfig {
  for (const name of fileNames) {
    const path = join(root, name);
    try {
      const stats = statSync(path, { throwIfNoEntry: false });
      if (stats === undefined) continue;
      const problem = problemOf(stats);
      if (problem !== undefined) return nothingIn(path, { path, message: `${path} ${problem}` });
      return parse(path, readFileSync(path, 'utf8'));
    } catch (error) {
      return nothingIn(path, { path, message: `${path} cannot be read: ${describeError(error)}.` });
    }
  }
  return { path: undefined, stallDetection: {}, problems: [] };
}

/** A pipe would hold up whoever reads it. */
function problemOf(stats: Stats): string | undefined {
  if (!stats.isFile()) return 'is no plain file.';
  return stats.size > maxBytes
    ? `has ${stats.size} bytes; at most ${maxBytes} are read.`
    : undefined;
}

function nothingIn(path: string, ...problems: readonly WorkflowProblem[]): WorkflowConfig {
  return { path, stallDetection: {}, problems };
}

/** YAML, of which JSON is a part. */
function parse(path: string, source: string): WorkflowConfig {
  const lines = new LineCounter();
  const document = parseDocument(source, { lineCounter: lines, prettyErrors: false });
  const problemAt = (offset: number, text: string): WorkflowProblem => {
    const { line } = lines.linePos(offset);
    return { path, line, message: `${path}:${line}: ${text}` };
  };
  const [broken] = document.errors;
  if (broken !== undefined) {
    return nothingIn(path, problemAt(broken.pos[0], `${broken.message}; ${noEffect}`));
  }
  let content: unknown;
  try {
    content = document.toJS();
  } catch (error) {
    // An alias without its anchor, or so many of them that they would fill the memory.
    return nothingIn(path, problemAt(0, `${describeError(error)}; ${noEffect}`));
  }
  const holder = [[], ['workflow']].find((inner) => !isMappingOrNothing(valueAt(content, inner)));
  if (holder !== undefined) {
    const key = holder.join('.');
    const subject = key === '' ? 'this' : `"${key}"`;
    const offset = rangeStart(document.getIn(holder, true)) ?? 0;
    const problem = problemAt(offset, `${subject} is no mapping of keys; ${noEffect}`);
    return nothingIn(path, { ...problem, ...(key === '' ? {} : { key }) });
  }
  const value = valueAt(content, at);
  if (value === undefined || value === null) return nothingIn(path);
  const parsed = stallDetectionSchema.safeParse(value);
  if (parsed.success) return { path, stallDetection: withoutUndefined(parsed.data), problems: [] };

  const keysAtFault = parsed.error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys' ? issue.keys : String(issue.path[0] ?? ''),
  );
  const problems = keysAtFault.map((name): WorkflowProblem => {
    const keyPath = name === '' ? at : [...at, name];
    const key = keyPath.join('.');
    const accepted = accepts(name) ?? 'only enabled and thresholdMinutes';
    const offset = offsetOf(document, keyPath);
    return {
      ...problemAt(offset, `"${key}" takes ${accepted}; what is there has no effect.`),
      key,
    };
  });
  const kept = Object.entries(value).filter(
    ([name]) => accepts(name) !== undefined && !keysAtFault.includes(name),
  );
  return { path, stallDetection: Object.fromEntries(kept), problems };
}

const noEffect = 'the file has no effect.';

function isMappingOrNothing(value: unknown): boolean {
  return (
    value === undefined || value === null || (typeof value === 'object' && !Array.isArray(value))
  );
}

function accepts(key: string): string | undefined {
  if (key === 'enabled') return 'true or false';
  return key === 'thresholdMinutes' ? 'a whole number of minutes from 1' : undefined;
}

/** Where a key stands, or what it belongs to when it cannot be found. */
function offsetOf(document: Document, path: readonly string[]): number {
  const parent: unknown = document.getIn(path.slice(0, -1), true);
  const pair = isMap(parent)
    ? parent.items.find(({ key }) => String(key) === path.at(-1))
    : undefined;
  return rangeStart(pair?.key) ?? rangeStart(parent) ?? 0;
}

function rangeStart(node: unknown): number | undefined {
  if (typeof node !== 'object' || node === null || !('range' in node)) return undefined;
  return Array.isArray(node.range) && typeof node.range[0] === 'number' ? node.range[0] : undefined;
}

function withoutUndefined(
  data: z.infer<typeof stallDetectionSchema>,
): Partial<StallDetectionConfig> {
  const { enabled, thresholdMinutes } = data;
  return {
    ...(enabled === undefined ? {} : { enabled }),
    ...(thresholdMinutes === undefined ? {} : { thresholdMinutes }),
  };
}
