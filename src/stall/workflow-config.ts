/**
 * `.devloops`: the part of another tool's configuration that says whether and when a child has stalled.
 *
 * Reads that one family of keys and says, with line and key, what is wrong with it; everything else in
 * the file is somebody else's.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';
import { ConfigError } from '../errors.ts';

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

/** Reads the first of `.devloops`, `.devloops.yaml`, `.yml`, `.json` in `root`. Never throws. */
export function readWorkflowConfig(root: string): WorkflowConfig {
  for (const name of fileNames) {
    const path = join(root, name);
    let source: string;
    try {
      source = readFileSync(path, 'utf8');
    } catch (error) {
      if (isMissing(error)) continue;
      const message = `${path} cannot be read: ${String(error)}`;
      return { path, stallDetection: {}, problems: [{ path, message }] };
    }
    return parse(path, source);
  }
  return { path: undefined, stallDetection: {}, problems: [] };
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT';

/** YAML, of which JSON is a part. */
function parse(path: string, source: string): WorkflowConfig {
  const lines = new LineCounter();
  const document = parseDocument(source, { lineCounter: lines, prettyErrors: false });
  const lineOf = (offset: number): number => lines.linePos(offset).line;
  const [broken] = document.errors;
  if (broken !== undefined) {
    const line = lineOf(broken.pos[0]);
    const message = `${path}:${line}: ${broken.message}`;
    return { path, stallDetection: {}, problems: [{ path, line, message }] };
  }
  const at = ['workflow', 'stallDetection'];
  const value = valueAt(document.toJS(), at);
  if (value === undefined || value === null) return { path, stallDetection: {}, problems: [] };
  const parsed = stallDetectionSchema.safeParse(value);
  if (parsed.success) return { path, stallDetection: withoutUndefined(parsed.data), problems: [] };

  const problems = parsed.error.issues.map((issue): WorkflowProblem => {
    const [unknown] = issue.code === 'unrecognized_keys' ? issue.keys : [];
    const inner = [...at, ...issue.path.map(String), ...(unknown === undefined ? [] : [unknown])];
    const node = document.getIn(inner, true);
    const offset = rangeStart(node) ?? rangeStart(document.getIn(at, true)) ?? 0;
    const key = inner.join('.');
    const line = lineOf(offset);
    const accepted = acceptedFor[inner.at(-1) ?? ''] ?? 'only enabled and thresholdMinutes';
    return { path, line, key, message: `${path}:${line}: "${key}" takes ${accepted}.` };
  });
  const brokenKeys = new Set(problems.map(({ key }) => key));
  const kept = Object.entries(value).filter(
    ([key]) => key in acceptedFor && !brokenKeys.has([...at, key].join('.')),
  );
  return { path, stallDetection: Object.fromEntries(kept), problems };
}

const acceptedFor: Readonly<Record<string, string>> = {
  enabled: 'true or false',
  thresholdMinutes: 'a whole number of minutes from 1',
};

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
