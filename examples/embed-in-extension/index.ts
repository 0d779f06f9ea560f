/**
 * A Pi extension of somebody else's that has an agent do its work: the tool `ask_scout` hands a
 * question to a scout, a Pi session of its own, and returns what it found out.
 *
 * It works beside Sheepfold's own extension: its session is found by a key of its own, and two loaded
 * copies of Sheepfold do not disturb each other.
 *
 *     cd examples/embed-in-extension && npm install && pi -e .
 */
import type { ExtensionAPI, ExtensionContext } from '@earendil-works/pi-coding-agent';
import { createShepherd, describeError, isChildProcess, type Shepherd } from 'sheepfold';

export default function askScout(pi: ExtensionAPI): void {
  // Agents are Pi sessions too and load what is installed; they must not lead agents themselves.
  if (isChildProcess()) return;
  let opening: Promise<Shepherd> | undefined;

  /** Opened with the first question; nothing runs in a session that asks none. */
  function shepherdOf(ctx: ExtensionContext): Promise<Shepherd> {
    opening ??= open(ctx).catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  }

  pi.registerTool({
    name: 'ask_scout',
    label: 'Ask scout',
    description: 'Have a scout find something out in this project. Returns its report.',
    parameters: {
      type: 'object',
      properties: { question: { type: 'string' } },
      required: ['question'],
    },
    async execute(callId, params, signal, _onUpdate, ctx) {
      const shepherd = await shepherdOf(ctx);
      // One scout a question: they run side by side when the model asks several at once.
      const label = callId.replaceAll(/[^\w-]/g, '-').slice(-64);
      const scout = await shepherd.spawn({ agent: 'scout', label }, signal);
      try {
        const { taskId } = await shepherd.delegate({
          target: scout.id,
          task: String(params.question),
        });
        // Resolves when the scout says that it is done, or cannot be: never because it is quiet.
        const result = await shepherd.settled(taskId, signal);
        if (!result.ok) throw new Error(result.error ?? result.summary ?? result.status);
        return { content: [{ type: 'text', text: result.summary ?? '' }], details: { ...result } };
      } finally {
        await shepherd.close(scout.id);
      }
    },
  });

  pi.on('session_shutdown', async (_event, ctx) => {
    const shepherd = await opening?.catch(() => undefined);
    opening = undefined;
    await shepherd?.dispose().catch((error: unknown) => ctx.ui.notify(describeError(error)));
  });
}

async function open(ctx: ExtensionContext): Promise<Shepherd> {
  const shepherd = await createShepherd({
    cwd: ctx.cwd,
    sessionKey: `ask-scout ${ctx.sessionManager.getSessionId()}`,
    sessionName: 'ask scout',
    // Definitions that name no model get the one of this session.
    model: () => (ctx.model === undefined ? null : `${ctx.model.provider}/${ctx.model.id}`),
  });
  shepherd.on((change) => {
    if (change.type === 'agent') ctx.ui.setStatus('ask-scout', `scout: ${change.agent.state}`);
  });
  return shepherd;
}
