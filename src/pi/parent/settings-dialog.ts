/**
 * The settings in Pi: what is in force and where it comes from, and dialogs that change it.
 *
 * Works wherever Pi has dialogs, in the terminal and over rpc; without them it only shows.
 */
import type { ExtensionContext } from '@earendil-works/pi-coding-agent';
import { describeError } from '../../errors.ts';
import type { LiveSettings } from '../../settings/live.ts';
import type { ReadSettings } from '../../settings/read.ts';
import { acceptedBy, settingKeys, type EditableKey } from '../../settings/rules.ts';
import { defaultSettings, isUserOnly } from '../../settings/settings.ts';
import { activateProjectFile, writeSetting } from '../../settings/write.ts';

type Layer = 'user' | 'project';
type Dialogs = Pick<ExtensionContext, 'hasUI' | 'ui'>;

const useDefault = 'Take it out of the file (the default counts)';
const otherValue = 'Another value…';

/**
 * Shows the settings, or has the user change them one by one until the dialog is left.
 *
 * @returns what is left to be said.
 */
export async function editSettings(
  { hasUI, ui }: Dialogs,
  live: LiveSettings,
): Promise<string | undefined> {
  if (!hasUI) return overview(live.read());
  let changes = 0;
  for (;;) {
    const layer = await chooseLayer(ui, live);
    if (layer === undefined) break;
    if (layer === 'switch') {
      const { isProjectActive } = live.read();
      changes += attempt(ui, () => activateProjectFile(live.files.projectFile, !isProjectActive));
      continue;
    }
    changes += await editLayer(ui, live, layer);
  }
  return changes === 0 ? undefined : `${changes} settings changed; they count from now on.`;
}

async function chooseLayer(
  ui: Dialogs['ui'],
  live: LiveSettings,
): Promise<Layer | 'switch' | undefined> {
  const { isProjectActive } = live.read();
  const user = `Yours: ${live.files.userFile}`;
  const project = `This project’s: ${live.files.projectFile}`;
  const turn = isProjectActive
    ? 'Switch the project’s file off (yours counts)'
    : 'Switch the project’s file on (it counts in place of yours)';
  const chosen = await ui.select('Settings of Sheepfold', [
    user,
    ...(isProjectActive ? [project] : []),
    turn,
  ]);
  if (chosen === user) return 'user';
  if (chosen === project) return 'project';
  return chosen === turn ? 'switch' : undefined;
}

async function editLayer(ui: Dialogs['ui'], live: LiveSettings, layer: Layer): Promise<number> {
  let changes = 0;
  for (;;) {
    const keys = settingKeys.filter((key) => layer === 'user' || !isUserOnly(key));
    const now = live.read();
    const lines = keys.map((key) => lineOf(now, key));
    const chosen = await ui.select(`Settings in the ${layer} file`, lines);
    const key = keys[lines.indexOf(chosen ?? '')];
    if (key === undefined) return changes;
    changes += await editKey(ui, live, { layer, key });
  }
}

async function editKey(
  ui: Dialogs['ui'],
  live: LiveSettings,
  { layer, key }: { readonly layer: Layer; readonly key: EditableKey },
): Promise<number> {
  const { accepted, choices } = acceptedBy(key);
  const title = `${key}: ${accepted}`;
  const chosen = await ui.select(title, [
    ...choices.map((choice) => JSON.stringify(choice)),
    ...(choices.length === 0 ? [otherValue] : []),
    useDefault,
  ]);
  if (chosen === undefined) return 0;
  const file = layer === 'user' ? live.files.userFile : live.files.projectFile;
  if (chosen === useDefault) return attempt(ui, () => writeSetting(file, key, undefined));
  if (chosen !== otherValue) {
    return attempt(ui, () => writeSetting(file, key, JSON.parse(chosen)));
  }
  const written = await ui.input(title, String(valueOf(live.read().settings, key)));
  if (written === undefined || written.trim() === '') return 0;
  return attempt(ui, () => writeSetting(file, key, valueFrom(written, key)));
}

/** 1 for a change that was made; one that was refused is told of. */
function attempt(ui: Dialogs['ui'], change: () => void): number {
  try {
    change();
    return 1;
  } catch (error) {
    ui.notify(describeError(error), 'error');
    return 0;
  }
}

/** A number where the setting takes one; what is none is left for the rule to refuse. */
function valueFrom(written: string, key: EditableKey): unknown {
  const text = written.trim();
  if (typeof valueOf(defaultSettings, key) !== 'number') return text;
  const number = Number(text);
  return Number.isNaN(number) ? text : number;
}

function lineOf(now: ReadSettings, key: EditableKey): string {
  return `${key} = ${JSON.stringify(valueOf(now.settings, key))} (${sourceOf(now, key)})`;
}

const sourceOf = ({ sources }: ReadSettings, key: EditableKey): string =>
  new Map(Object.entries(sources)).get(key.split('.')[0] ?? '') ?? 'default';

function valueOf(settings: ReadSettings['settings'], key: EditableKey): unknown {
  return key
    .split('.')
    .reduce<unknown>((value, part) => Reflect.get(Object(value), part), settings);
}

function overview(now: ReadSettings): string {
  return [
    'Settings in force, and where each comes from:',
    ...settingKeys.map((key) => `  ${lineOf(now, key)}`),
    ...now.problems.map(({ message }) => message),
  ].join('\n');
}
