/** Reads a child's kept output back as lines for people. */
import { open } from 'node:fs/promises';
import { stripVTControlCharacters } from 'node:util';
import { launchPaths } from './launch.ts';
import { errnoOf } from './processes.ts';

/** Enough for some hundred lines of events, and never the whole 8 MiB. */
const TAIL_BYTES = 512 * 1024;
const MAX_ARGUMENTS_LENGTH = 200;

/**
 * The last `lines` lines of what the child said, called and printed, oldest first.
 *
 * Pi's events become assistant text and tool calls, other events are left out, what is no event stands
 * as it is. Standard error has no clock to sort it by: it comes last, marked `!`, and takes at most a
 * third of the lines when there is other output to show.
 */
export async function readTranscript(launchDir: string, lines: number): Promise<string> {
  const paths = launchPaths(launchDir);
  const errors = toLines(await readWithOlder(paths.errors)).map((line) => `! ${line}`);
  const output = toLines(await readWithOlder(paths.output)).flatMap(renderLine);
  const errorLines = Math.max(Math.ceil(lines / 3), lines - output.length);
  const lastErrors = errors.slice(-errorLines);
  const room = lines - lastErrors.length;
  const lastOutput = room > 0 ? output.slice(-room) : [];
  return [...lastOutput, ...lastErrors].slice(-lines).join('\n');
}

/** One line of `out.jsonl` as lines for people; empty for an event that says nothing to them. */
function renderLine(line: string): string[] {
  const event = parseEvent(line);
  if (event === undefined) return line.startsWith('{"type":"') ? [] : [line];
  switch (event['type']) {
    case 'message_end':
      return renderMessage(asRecord(event['message']));
    case 'extension_ui_request':
      return typeof event['title'] === 'string' ? [`? ${event['title']}`] : [];
    case 'extension_error':
      return [`✗ extension: ${textOf(event['error'])}`];
    case 'sheepfold_cut':
      return [`… ${String(event['length'])} characters in one line: left out`];
    default:
      return [];
  }
}

function renderMessage(message: Readonly<Record<string, unknown>>): string[] {
  const parts = Array.isArray(message['content']) ? message['content'].map(asRecord) : [];
  switch (message['role']) {
    case 'assistant': {
      const lines = parts.flatMap((part) => {
        if (part['type'] === 'text') return toLines(textOf(part['text']));
        if (part['type'] !== 'toolCall') return [];
        const text = JSON.stringify(part['arguments'] ?? {});
        return [`→ ${textOf(part['name'])} ${text.slice(0, MAX_ARGUMENTS_LENGTH)}`];
      });
      const failure = message['errorMessage'];
      return typeof failure === 'string' ? [...lines, `✗ ${failure}`] : lines;
    }
    case 'toolResult': {
      if (message['isError'] !== true) return [];
      const [first = ''] = parts.flatMap((part) => toLines(textOf(part['text'])));
      return [`✗ ${textOf(message['toolName'])}: ${first}`];
    }
    default:
      return [];
  }
}

function parseEvent(line: string): Readonly<Record<string, unknown>> | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const value = asRecord(JSON.parse(line));
    return typeof value['type'] === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? '');
}

function toLines(text: string): string[] {
  const lines = stripVTControlCharacters(text).split(/\r?\n/);
  return lines.filter((line) => line.trim() !== '');
}

/** The end of a log, with that of its older half before it when the log alone is short. */
async function readWithOlder(file: string): Promise<string> {
  const current = await readTail(file);
  if (current.length >= TAIL_BYTES / 2) return current;
  return (await readTail(`${file}.old`)) + current;
}

async function readTail(file: string): Promise<string> {
  let handle;
  try {
    handle = await open(file, 'r');
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return '';
    throw error;
  }
  try {
    const { size } = await handle.stat();
    const start = Math.max(0, size - TAIL_BYTES);
    const buffer = Buffer.alloc(size - start);
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, start);
    const text = buffer.toString('utf8', 0, bytesRead);
    return start === 0 ? text : text.slice(text.indexOf('\n') + 1);
  } finally {
    await handle.close();
  }
}
