/**
 * How a call of the Shepherd's tools looks: a line, or all of its arguments.
 *
 * As Pi draws it by itself, except that what a text of a child brought into an argument is not obeyed.
 * Results are Pi's to draw; it takes control sequences out of them.
 */
import type { ExtensionAPI, ToolRenderers } from '@earendil-works/pi-coding-agent';
import { drawn } from './component.ts';
import { cut, wrap } from './text.ts';

type RenderCall = NonNullable<ToolRenderers['renderCall']>;

/** Registers it for these tools; the others stay as they are. */
export function registerToolCallRenderer(
  pi: Pick<ExtensionAPI, 'registerToolRenderer'>,
  tools: readonly { readonly name: string }[],
): void {
  const names = new Set(tools.map(({ name }) => name));
  pi.registerToolRenderer((name, next) =>
    names.has(name) ? { ...next(), renderCall: createRenderer(name) } : next(),
  );
}

function createRenderer(name: string): RenderCall {
  return (args: unknown, theme, { expanded }) => {
    // While the model writes, there are few or none yet.
    const given: [string, unknown][] = Object.entries(args ?? {});
    return drawn((width) => {
      const title = cut(name, width);
      const heading = theme.fg('toolTitle', theme.bold(title));
      if (expanded) {
        const lines = given.flatMap(([key, value]) => wrap(`${key}: ${written(value)}`, width - 2));
        return [heading, ...lines.map((line) => `  ${theme.fg('muted', line)}`)];
      }
      const line = given.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(' ');
      const shown = cut(line, Math.max(0, width - title.length - 1));
      return [shown === '' ? heading : `${heading} ${theme.fg('muted', shown)}`];
    });
  };
}

const written = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '');
