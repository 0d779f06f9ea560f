/** The inspector's page of one Pi session: opened when it is first asked for, gone with the session. */
import { basename, join } from 'node:path';
import { startInspector, type Inspector } from '../../inspector/server.ts';
import type { Shepherd } from '../../runtime/shepherd.ts';

export interface Inspection {
  /** Address of the page over this herd; the same one as long as the herd is the same. */
  open(running: Pick<Shepherd, 'sessionDir'>): Promise<string>;
  close(): Promise<void>;
}

export function createInspection(): Inspection {
  let current: { readonly dir: string; readonly started: Promise<Inspector> } | undefined;

  async function close(): Promise<void> {
    const last = current;
    current = undefined;
    await last?.started.then(
      (inspector) => inspector.close(),
      // It never was there.
      () => undefined,
    );
  }

  return {
    async open({ sessionDir: dir }) {
      if (current?.dir !== dir) {
        await close();
        const storePath = join(dir, 'session.db');
        current = { dir, started: startInspector({ name: basename(dir), dir, storePath }) };
      }
      const mine = current;
      try {
        return (await mine.started).url;
      } catch (error) {
        if (current === mine) current = undefined;
        throw error;
      }
    },
    close,
  };
}
