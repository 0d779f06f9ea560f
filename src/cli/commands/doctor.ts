/** `sheepfold doctor`: whether everything that Sheepfold needs is here, and what to do where not. */
import { examine } from '../doctor/examine.ts';
import type { Check, DoctorReport } from '../doctor/report.ts';
import type { Command } from '../command.ts';
import { textOf } from '../sessions.ts';
import { formatLine, paint, type Cell } from '../terminal.ts';

export const doctor: Command = {
  summary:
    'checks Node, Pi, tmux, Herdr, directories, settings and sessions, and says how to fix each',
  options: { dir: { type: 'string' }, json: { type: 'boolean' } },
  async run({ values, out, now, signal }) {
    const report = await examine({
      projectDir: textOf(values, 'dir') ?? '.',
      env: process.env,
      nodeVersion: process.versions.node,
      now,
      signal,
    });
    if (values['json'] === true) out(JSON.stringify(report, null, 2));
    else for (const line of describe(report)) out(line);
    return report.ok ? 0 : 1;
  },
};

const names: Readonly<Record<Check['about'], string>> = {
  node: 'Node',
  sqlite: 'node:sqlite',
  pi: 'Pi',
  host: 'host',
  tmux: 'tmux',
  herdr: 'Herdr',
  state_dir: 'sessions in',
  agent_dir: 'Pi directory',
  settings: 'settings',
  sessions: 'sessions',
};

const styles = { ok: 'green', warn: 'yellow', fail: 'red' } as const;
const nameWidth = Math.max(...Object.values(names).map(({ length }) => length));

function describe({ version, projectDir, checks, ok }: DoctorReport): readonly string[] {
  const warnings = checks.filter(({ status }) => status === 'warn').length;
  const failed = checks.filter(({ status }) => status === 'fail').length;
  const told = [
    ...(ok ? [] : [`${failed} of these must be fixed`]),
    ...(warnings === 0 ? [] : [`${warnings} should be looked at`]),
  ];
  return [
    whole([{ text: `sheepfold ${version} in ${projectDir}`, style: 'bold' }]),
    '',
    ...checks.flatMap(linesOf),
    '',
    paint(ok ? 'green' : 'red', told.length === 0 ? 'All is well.' : `${told.join(', ')}.`),
  ];
}

function linesOf({ about, status, message, fix }: Check): readonly string[] {
  const said = whole([
    { text: status, width: 4, style: styles[status] },
    { text: names[about], width: nameWidth },
    { text: message },
  ]);
  return fix === null ? [said] : [said, whole([{ text: '', width: 4 }, { text: `→ ${fix}` }])];
}

/** Never cut: paths and commands are there to be copied. */
function whole(cells: readonly Cell[]): string {
  return formatLine(cells, Number.MAX_SAFE_INTEGER);
}
