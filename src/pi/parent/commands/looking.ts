/** Verbs that only look: `agents`, `herd`, `status`, `read`, `inspect`. */
import { describeHost } from '../../../hosts/choose.ts';
import { readOutcome } from '../../tools/read.ts';
import { listDefinitions, listHerd } from '../../tools/shepherd.ts';
import { statusOutcome } from '../../tools/status.ts';
import { agentNames, taskIds } from './names.ts';
import { definitionsOf, required, runningHerd, type Verb } from './verb.ts';

export const agents: Verb = {
  name: 'agents',
  takes: '',
  summary: 'lists the agent definitions that can be spawned',
  async run({ herd, ctx, policy }) {
    const running = await herd.running();
    return listDefinitions({ definitions: () => definitionsOf({ running, ctx, policy }) }).text;
  },
};

export const herdVerb: Verb = {
  name: 'herd',
  takes: '',
  summary: 'lists the live agents and their tasks',
  run: async (call) => listHerd(await runningHerd(call)).text,
};

export const status: Verb = {
  name: 'status',
  takes: '[agent | task id | message id]',
  summary: 'shows how one stands, or the whole herd',
  complete: ({ running }) => [...agentNames(running), ...taskIds(running)],
  async run(call) {
    const running = await runningHerd(call);
    if (call.rest !== '') return statusOutcome(running, call.rest).text;
    const host = call.policy.hostOf?.(call.ctx);
    const place = host === undefined ? '' : `\n\nNew agents run ${describeHost(host)}.`;
    return `${listHerd(running).text}${place}`;
  },
};

export const read: Verb = {
  name: 'read',
  takes: '<agent> [lines]',
  summary: 'shows the last lines that an agent said or printed',
  complete: ({ running }) => agentNames(running),
  async run(call) {
    const running = await runningHerd(call);
    const [, name = '', lines] = /^(.*?)(?:\s+(\d+))?$/s.exec(required(read, call.rest)) ?? [];
    // A label may end with a number: the whole is tried first.
    const isName = agentNames(running).includes(call.rest);
    const wanted =
      isName || lines === undefined ? { name: call.rest } : { name, lines: Number(lines) };
    return (await readOutcome(running, wanted)).text;
  },
};

export const inspect: Verb = {
  name: 'inspect',
  takes: '',
  summary: 'opens a page over this session: charts, mail and timeline in a browser',
  async run(call) {
    const url = await call.inspection.open(await runningHerd(call));
    return `The inspector of this session, until it ends: ${url}`;
  },
};
