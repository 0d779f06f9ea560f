/**
 * The text of a fieldnote: what Sheepfold writes in it, and what it leaves alone.
 *
 * Pure. A note has two parts that are ours: the frontmatter's own keys, and one section between two
 * marks. Everything else belongs to the agent, and to people.
 *
 * NT1. What somebody else wrote is kept, byte for byte, wherever it stands.
 * NT2. Writing the same facts again changes nothing.
 * NT3. A text that a task brought along can neither open nor close our section.
 */

/** How a note's task stands: `running` from its dispatch on. */
export type NoteStatus =
  'running' | 'waiting' | 'completed' | 'blocked' | 'failed' | 'cancelled' | 'timed_out';

/** What a note says about its task. */
export interface NoteFacts {
  readonly taskId: string;
  readonly agentId: string;
  /** What people call the agent. */
  readonly agent: string;
  readonly task: string;
  readonly status: NoteStatus;
  readonly createdAtMs: number;
  readonly dispatchedAtMs: number;
  readonly outcome?: NoteOutcome;
}

/** How it ended. */
export interface NoteOutcome {
  readonly settledAtMs: number;
  readonly summary?: string | undefined;
  /** The agent's last text, where it says more than the summary. */
  readonly output?: string | undefined;
  readonly error?: string | undefined;
  readonly override?: string | undefined;
  readonly evidence: {
    readonly turns: number;
    readonly toolCalls: number;
    readonly lastActivityAtMs: number | null;
  };
}

const maxSlugLength = 48;
const maxTaskCharacters = 2_000;

/** What the files of an agent's notes begin with: `a-z`, `0-9` and single hyphens, at most 48. */
export function noteSlug(agent: string): string {
  const plain = agent.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
  const slug = plain.replaceAll(/[^a-z0-9]+/g, '-').slice(0, maxSlugLength);
  return slug.replaceAll(/^-+|-+$/g, '') || 'agent';
}

/** The name of a note's file: `scout-07.md`. */
export function noteFileName(slug: string, ordinal: number): string {
  return `${slug}-${String(ordinal).padStart(2, '0')}.md`;
}

/** The ordinal of a note with this slug, or undefined for any other name. */
export function ordinalOf(fileName: string, slug: string): number | undefined {
  const name = parseNoteFileName(fileName);
  return name?.slug === slug ? name.ordinal : undefined;
}

/** Whether a name is one that `noteFileName` makes; anything with a path in it is not. */
export function isNoteFileName(fileName: string): boolean {
  return parseNoteFileName(fileName) !== undefined;
}

function parseNoteFileName(fileName: string) {
  const [, slug, digits] = /^([a-z0-9][a-z0-9-]*)-(\d{2,9})\.md$/.exec(fileName) ?? [];
  if (slug === undefined || digits === undefined || slug.length > maxSlugLength) return undefined;
  const ordinal = Number(digits);
  return noteFileName(slug, ordinal) === fileName ? { slug, ordinal } : undefined;
}

/** Whether a note's frontmatter says that it is this task's. */
export function isNoteOf(text: string, taskId: string): boolean {
  return lineOf('task').exec(splitFrontmatter(text)?.body ?? '')?.[0] === `task: ${taskId}`;
}

/**
 * Brings a note up to date, or makes it when there is none (NT1, NT2).
 *
 * @param text what the file holds now; blank or undefined: a new one.
 */
export function writeNote(text: string | undefined, facts: NoteFacts): string {
  const kept = text === undefined || text.trim() === '' ? newNote(facts) : text;
  return withSection(withFrontmatter(kept, facts), facts);
}

function newNote(facts: NoteFacts): string {
  return [
    '---',
    ...fieldsOf(facts).map(([key, value]) => `${key}: ${value}`),
    '---',
    '',
    `# ${facts.agent.replaceAll(/\s+/g, ' ')}`,
    '',
    ...quote(facts.task),
    '',
    '## Findings',
    '',
  ].join('\n');
}

/** The task as it was given; a long one is cut, since its agent has all of it. */
function quote(task: string): readonly string[] {
  const characters = Array.from(task.slice(0, 2 * maxTaskCharacters + 1));
  const isCut = characters.length > maxTaskCharacters;
  const shown = isCut ? `${characters.slice(0, maxTaskCharacters).join('')}…` : task;
  return disarm(shown)
    .split(/\r?\n/)
    .map((line) => (line === '' ? '>' : `> ${line}`));
}

const iso = (atMs: number): string => new Date(atMs).toISOString();

/** Our keys of the frontmatter, in their order. A JSON string is a YAML string. */
function fieldsOf(facts: NoteFacts): readonly (readonly [key: string, value: string])[] {
  const { taskId, agentId, agent, status, createdAtMs, dispatchedAtMs, outcome } = facts;
  return [
    ['task', taskId],
    ['agent', JSON.stringify(agent)],
    ['agentId', agentId],
    ['status', status],
    ['created', iso(createdAtMs)],
    ['dispatched', iso(dispatchedAtMs)],
    ...(outcome === undefined ? [] : [['settled', iso(outcome.settledAtMs)] as const]),
  ];
}

function splitFrontmatter(text: string) {
  const [head, open, body] = /^(---\r?\n)([\s\S]*?\r?\n)(?=---(?:\r?\n|$))/.exec(text) ?? [];
  if (head === undefined || open === undefined || body === undefined) return undefined;
  return { open, body, rest: text.slice(head.length) };
}

const lineOf = (key: string): RegExp => new RegExp(`^${key}:.*$`, 'm');

/** Sets our keys; those of others stay. A frontmatter that is no longer this task's is left alone. */
function withFrontmatter(text: string, facts: NoteFacts): string {
  const found = isNoteOf(text, facts.taskId) ? splitFrontmatter(text) : undefined;
  if (found === undefined) return text;
  const { open, rest } = found;
  let { body } = found;
  for (const [key, value] of fieldsOf(facts)) {
    const line = `${key}: ${value}`;
    body = lineOf(key).test(body)
      ? body.replace(lineOf(key), () => line)
      : `${body}${line}${open.slice(3)}`;
  }
  return `${open}${body}${rest}`;
}

const markWord = 'shepherd-orchestration';
const beginOf = (taskId: string): string =>
  `<!-- ${markWord} ${taskId} begin: rewritten by Sheepfold -->`;
const endOf = (taskId: string): string => `<!-- ${markWord} ${taskId} end -->`;

/** A mark in somebody's text becomes text (NT3). */
function disarm(text: string): string {
  return text.replaceAll(`<!-- ${markWord}`, `&lt;!-- ${markWord}`);
}

/** Puts our section at the end, or where it stands already; an open task has none. */
function withSection(text: string, facts: NoteFacts): string {
  if (facts.outcome === undefined) return text;
  const section = sectionOf(facts, facts.outcome);
  const begin = text.lastIndexOf(beginOf(facts.taskId));
  const end = begin < 0 ? -1 : text.indexOf(endOf(facts.taskId), begin);
  if (end >= 0) {
    return text.slice(0, begin) + section + text.slice(end + endOf(facts.taskId).length);
  }
  const gap = text.endsWith('\n\n') ? '' : text.endsWith('\n') ? '\n' : '\n\n';
  return `${text}${gap}${section}\n`;
}

function sectionOf(facts: NoteFacts, outcome: NoteOutcome): string {
  const { summary, output, error, override } = outcome;
  const { turns, toolCalls, lastActivityAtMs } = outcome.evidence;
  const activity = lastActivityAtMs === null ? '' : `, last activity ${iso(lastActivityAtMs)}`;
  return [
    beginOf(facts.taskId),
    '',
    '## Shepherd orchestration',
    '',
    `- Status: ${facts.status}`,
    `- Created: ${iso(facts.createdAtMs)}`,
    `- Settled: ${iso(outcome.settledAtMs)}`,
    `- Evidence: ${turns} turns, ${toolCalls} tool calls${activity}`,
    '',
    ...titled('Summary', summary),
    ...titled('Final output', output === summary ? undefined : output),
    ...titled('Error', error),
    ...titled('Completed although a reply was outstanding', override),
    endOf(facts.taskId),
  ].join('\n');
}

function titled(title: string, text: string | undefined): readonly string[] {
  const shown = text?.trim() ?? '';
  return shown === '' ? [] : [`### ${title}`, '', disarm(shown), ''];
}
