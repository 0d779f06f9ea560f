/** Verbs that change the herd: `spawn`, `close`, `cancel`, `interrupt`, `prune`. */
import { ConfigError } from '../../../errors.ts';
import { prune as pruneHerd } from '../../tools/shepherd.ts';
import { agentNames, requestIds, taskIds } from './names.ts';
import { definitionsOf, firstWord, required, runningHerd, usageOf, type Verb } from './verb.ts';

export const spawn: Verb = {
  name: 'spawn',
  aliases: ['start'],
  takes: '<definition> <label>',
  summary: 'starts an agent, idle; the label is the rest of the line',
  complete: (scope) =>
    definitionsOf(scope).agents.flatMap(({ name, userInvocable }) =>
      userInvocable === false ? [] : name,
    ),
  async run({ rest, herd, ctx }) {
    const [agent, label] = firstWord(rest);
    // The predecessor took options here; as a label they would be a surprise.
    if (label === '' || label.startsWith('--')) {
      throw new ConfigError(
        'invalid_argument',
        `${usageOf(spawn)} (the label is the rest of the line)`,
      );
    }
    const running = await herd.open(ctx);
    const wanted = running.definitions().agents.find(({ name }) => name === agent);
    if (wanted?.userInvocable === false) {
      throw new ConfigError(
        'invalid_argument',
        `${wanted.path} keeps ${agent} for the model: user-invocable is false there.`,
      );
    }
    const spawned = await running.spawn({ agent, label });
    return [
      `${spawned.agent}: ${spawned.label} is ready and idle (${spawned.id}).`,
      ...(spawned.warnings ?? []),
    ].join('\n');
  },
};

export const close: Verb = {
  name: 'close',
  takes: '<agent>',
  summary: 'ends an agent for good; its task is cancelled',
  complete: ({ running }) => agentNames(running),
  async run(call) {
    const { id } = await (await runningHerd(call)).close(required(close, call.rest));
    return `Agent ${id} is closed.`;
  },
};

export const cancel: Verb = {
  name: 'cancel',
  takes: '<task id | question id> [reason]',
  summary: 'withdraws a task or a question; the agent stays',
  complete: ({ running }) => [...taskIds(running), ...requestIds(running)],
  async run(call) {
    const [id, reason] = firstWord(required(cancel, call.rest));
    const cancelled = (await runningHerd(call)).cancel(id, reason === '' ? undefined : reason);
    return `${cancelled.kind === 'task' ? 'Task' : 'Question'} ${cancelled.id} is cancelled.`;
  },
};

export const interrupt: Verb = {
  name: 'interrupt',
  takes: '<agent>',
  summary: 'stops the running turn of an agent, and keeps it and its task',
  complete: ({ running }) => agentNames(running),
  async run(call) {
    const running = await runningHerd(call);
    const { id, agent, label } = running.status(required(interrupt, call.rest));
    await running.interrupt(id);
    return `The turn of ${agent}: ${label} is stopped.`;
  },
};

export const prune: Verb = {
  name: 'prune',
  takes: '',
  summary: 'forgets ended agents and finished tasks that have been told of',
  run: async (call) => pruneHerd(await runningHerd(call)).text,
};
