/**
 * A plain Node program that leads an agent: it opens a session, hands over a task, answers what the
 * agent asks, and is told how the task ended.
 *
 *     npm run build && npx node examples/headless.ts          the agent is headless-child.ts: offline
 *     npm run build && npx node examples/headless.ts --pi     the agent is a Pi session with your model
 */
import { fileURLToPath } from 'node:url';
import { createProcessHost, createShepherd, describeError } from 'sheepfold';
import type { AgentHost, Change, Notice, TaskResult } from 'sheepfold';

const say = (line: string) => process.stdout.write(`${line}\n`);

// A host is where agents live. This one is the default one, and tells of each launch.
const processes = createProcessHost();
const host: AgentHost = {
  ...processes,
  open(launch, signal) {
    say(`host: opens ${launch.label}`);
    return processes.open(launch, signal);
  },
};

// An agent is any program that reads and writes its mailbox. Left out, it is Pi.
const child = fileURLToPath(new URL('headless-child.ts', import.meta.url));
const plainChild = ({ identityPath }: { readonly identityPath: string }) => ({
  argv: [process.execPath, child] as const,
  env: { PATH: process.env['PATH'] ?? '', SHEEPFOLD_CHILD: identityPath },
});

let actors = 0;
let ended: (result: TaskResult) => void;
const end = new Promise<TaskResult>((resolve) => (ended = resolve));

const shepherd = await createShepherd({
  host,
  makeCommand: process.argv.includes('--pi') ? undefined : plainChild,
  // The session's clock: deadlines, reminders and every `…AtMs` go by it.
  wall: () => Date.now(),
  // XState's own inspection events: everything that lives is an actor.
  inspect: (event) => {
    if (event.type === '@xstate.actor') actors += 1;
  },
  // What a model would be woken with. Questions wait for their answer until the reply deadline.
  notify: async (notice: Notice) => {
    const { messageId, senderId, expectsReply } = notice.details;
    if (expectsReply === true) {
      say('shepherd: answers a question');
      await shepherd.message({
        target: String(senderId),
        replyTo: String(messageId),
        message: 'The north one.',
      });
    }
    if (notice.kind === 'shepherd.task.completion') {
      const { result } = shepherd.task(taskId);
      if (result !== undefined) ended(result);
    }
  },
});

// Two ways to follow what happens: a listener, called after each commit …
const stopListening = shepherd.on((change) => {
  if (change.type === 'agent') say(`agent: ${change.agent.label} is ${change.agent.state}`);
});
// … and an iterator, which ends with the session.
async function follow(changes: AsyncIterable<Change>): Promise<void> {
  let state: string | undefined;
  for await (const change of changes) {
    if (change.type !== 'task' || change.task.state === state) continue;
    state = change.task.state;
    say(`task: ${state}`);
  }
}
const following = follow(shepherd.changes());

let taskId = '';
try {
  await shepherd.spawn({ agent: 'scout', label: 'survey' });
  ({ taskId } = await shepherd.delegate({
    target: 'survey',
    task: 'Where does a newcomer to this project begin?',
    timeoutMs: 5 * 60_000,
  }));
  await shepherd.message({ target: 'survey', message: 'Two sentences are enough.' });
  // One notice when it settles. A task that has settled already is told at once, and not by a notice.
  const [settled] = shepherd.watch(taskId).completed;
  const result = settled ?? (await end);
  say(`result: ${result.status}: ${result.summary ?? result.error ?? ''}`);
  process.exitCode = result.returnCode;
} catch (error) {
  say(`error: ${describeError(error)}`);
  process.exitCode = 1;
} finally {
  stopListening();
  // Closes every agent and proves that its processes are gone.
  await shepherd.dispose();
  await following;
  say(`inspect: ${actors} actors lived`);
}
