/** Asks the user of a Pi session whether an agent of the project may run. */
import type { ExtensionContext } from '@earendil-works/pi-coding-agent';
import type { ApproveAgent } from '../../runtime/approval.ts';

/** Undefined where nobody can be asked: then it is refused. */
export function approveWith(ctx: Pick<ExtensionContext, 'hasUI' | 'ui'>): ApproveAgent | undefined {
  if (!ctx.hasUI) return undefined;
  return ({ name, description, path, tools, model }, signal) =>
    ctx.ui.confirm(
      `Run the project’s agent "${name}"?`,
      [
        description,
        `File: ${path}`,
        `Tools: ${tools === undefined ? 'Pi’s default set, bash among them' : tools.join(', ')}`,
        `Model: ${model ?? 'the Shepherd’s'}`,
        'It runs with your rights. The answer holds for this session and for this content of the file.',
      ].join('\n'),
      signal === undefined ? {} : { signal },
    );
}
