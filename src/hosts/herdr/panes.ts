/**
 * Panes of Herdr: made in the background, found again, taken away.
 *
 * PN1. A pane is ours by the launch that wrote it down: Herdr does not know who made it.
 * PN2. Its terminal is what stays: the id of a pane changes when somebody moves it.
 */
import { join } from 'node:path';
import { z } from 'zod';
import { HostError, ShepherdError } from '../../errors.ts';
import type { Launch, PlaceRef } from '../host.ts';
import { readRecord, writeRecord } from '../record-file.ts';
import type { HerdrClient } from './client.ts';

const paneSchema = z.looseObject({ pane_id: z.string(), terminal_id: z.string().optional() });
type PaneInfo = z.infer<typeof paneSchema>;
const rootSchema = z.looseObject({ root_pane: paneSchema });
const splitSchema = z.looseObject({ pane: paneSchema });
const listSchema = z.looseObject({ panes: z.array(paneSchema) });
const infoSchema = z.looseObject({
  process_info: z.looseObject({
    shell_pid: z.int().positive(),
    foreground_process_group_id: z.int().nullish(),
  }),
});

const keptSchema = z.strictObject({
  v: z.literal(1),
  paneId: z.string(),
  terminalId: z.string().nullable(),
});

const recordOf = (launchDir: string): string => join(launchDir, 'herdr.json');

/** Where the program that opens panes sits itself, by what Herdr put into its environment. */
export interface OwnPlace {
  readonly workspaceId: string | undefined;
  readonly paneId: string | undefined;
}

/**
 * Opens a pane with a shell, without taking the focus, and writes it down in the launch directory.
 *
 * @returns its id, for now.
 */
export async function openPane(
  herdr: HerdrClient,
  { launchDir, label, placement = 'tab' }: Launch,
  own: OwnPlace,
): Promise<string> {
  const made = await makePane(herdr, { launchDir, label, placement }, own);
  const { pane_id: paneId, terminal_id: terminalId = null } = made;
  try {
    await writeRecord(recordOf(launchDir), { v: 1, paneId, terminalId });
  } catch (error) {
    await closePane(herdr, paneId);
    throw error;
  }
  return paneId;
}

async function makePane(
  herdr: HerdrClient,
  { launchDir: cwd, label, placement }: Required<Pick<Launch, 'launchDir' | 'label' | 'placement'>>,
  own: OwnPlace,
): Promise<PaneInfo> {
  const common = { cwd, label, focus: false };
  if ((placement === 'pane_right' || placement === 'pane_down') && own.paneId !== undefined) {
    const direction = placement === 'pane_right' ? 'right' : 'down';
    const asked = { target_pane_id: own.paneId, direction, cwd, focus: false };
    try {
      return (await herdr.call('pane.split', asked, splitSchema)).pane;
    } catch (error) {
      // Too small, or moved away: a tab is as good.
      if (!ShepherdError.is(error) || error.retryable) throw error;
    }
  }
  if (placement !== 'workspace') {
    const within = own.workspaceId === undefined ? {} : { workspace_id: own.workspaceId };
    try {
      return (await herdr.call('tab.create', { ...within, ...common }, rootSchema)).root_pane;
    } catch (error) {
      // There is no workspace yet, or the one this began in has gone.
      if (!ShepherdError.is(error) || error.retryable) throw error;
    }
  }
  return (await herdr.call('workspace.create', common, rootSchema)).root_pane;
}

/** The pid of a pane's shell, and whether it waits for a command. */
export async function shellOf(
  herdr: HerdrClient,
  paneId: string,
): Promise<{ readonly pid: number; readonly isReady: boolean }> {
  const { process_info: info } = await herdr.call(
    'pane.process_info',
    { pane_id: paneId },
    infoSchema,
  );
  const { shell_pid: pid, foreground_process_group_id: foreground } = info;
  return { pid, isReady: foreground === pid };
}

/** The pane of a launch as it is called now. @throws HostError `not_found`, `host_unavailable`. */
export async function findPane(herdr: HerdrClient, ref: PlaceRef): Promise<string> {
  const kept = await readRecord(recordOf(ref.launchDir), keptSchema);
  if (kept === undefined) throw noPane(ref);
  const { panes } = await herdr.call('pane.list', {}, listSchema);
  const found = panes.find(({ pane_id: paneId, terminal_id: terminalId }) =>
    kept.terminalId === null || terminalId === undefined
      ? paneId === kept.paneId
      : terminalId === kept.terminalId,
  );
  if (found === undefined) throw noPane(ref);
  return found.pane_id;
}

/** One that is gone already is as wanted; one that cannot be asked about stays. */
export async function closePane(herdr: HerdrClient, paneId: string): Promise<void> {
  await herdr.call('pane.close', { pane_id: paneId }, z.unknown()).catch(() => undefined);
}

function noPane({ launchId }: PlaceRef): HostError {
  return new HostError('not_found', `There is no pane of ${launchId}.`);
}
