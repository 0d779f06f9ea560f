/** Asks the user of a Pi session whether an agent of the project may run. */
import type { ExtensionContext } from '@earendil-works/pi-coding-agent';
import type { ApproveAgent } from '../../runtime/approval.ts';
import { cut } from '../render/text.ts';

/** Undefined where nobody can be asked: then it is refused. */
export function approveWith(ctx: Pick<ExtensionContext, 'hasUI' | 'ui'>): ApproveAgent | undefined {
  if (!ctx.hasUI) return undefined;
  return ({ name, description, path, tools, model }, signal) =>
    ctx.ui.confirm(
      `Run the project’s agent "${line(name)}"?`,
      [
        line(description),
        `File: ${line(path)}`,
        `Tools: ${tools === undefined ? 'Pi’s default set, bash among them' : line(tools.join(', '))}`,
        `Model: ${line(model ?? 'the Shepherd’s')}`,
        'It runs with your rights. The answer holds for this session and for this content of the file.',
      ].join('\n'),
      signal === undefined ? {} : { signal },
    );
}

/** The file is somebody else’s: what stands in it may not look like another line of the question. */
const line = (text: string): string => cut(text, 500);
