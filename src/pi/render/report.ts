/** Draws a long answer of `/shepherd` in Pi's transcript; no model reads it. */
import type { ExtensionAPI } from '@earendil-works/pi-coding-agent';
import { z } from 'zod';
import { drawn } from './component.ts';
import { cut, wrap } from './text.ts';

/** The type of the session entry that holds one. */
export const reportEntry = 'shepherd.report';

const reportSchema = z.object({ title: z.string(), text: z.string() });

export function registerReportRenderer(pi: Pick<ExtensionAPI, 'registerEntryRenderer'>): void {
  pi.registerEntryRenderer(reportEntry, ({ data }, _options, theme) => {
    const report = reportSchema.safeParse(data).data;
    if (report === undefined) return undefined;
    return drawn((width) => {
      const room = Math.max(1, width - 2);
      return [
        theme.fg('accent', theme.bold(cut(report.title, room))),
        ...wrap(report.text, room).map((line) => theme.fg('text', line)),
      ].map((line) => ` ${line}`);
    });
  });
}
