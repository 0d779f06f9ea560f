/** Finds an envelope by its id wherever it lies, as long as it lies somewhere; changes nothing. */
import { join } from 'node:path';
import { boxesAt, fileNameOf } from './layout.ts';
import { readEnvelopeFile } from './envelope-file.ts';
import type { Envelope } from './envelope.ts';
import { mailNames, onDisk, realFs } from './mail-fs.ts';

const maxEnvelopeBytes = 1024 * 1024;

/** As it is addressed to its recipient, if that copy is left; handled mail goes after a day. */
export function findEnvelope(mailboxDir: string, messageId: string): Envelope | undefined {
  const keys = onDisk('list', mailboxDir, () => mailNames(realFs, mailboxDir));
  for (const end of ['inbox', 'outbox'] as const) {
    for (const key of keys) {
      const box = boxesAt(join(mailboxDir, key))[end];
      for (const dir of [box.new, box.cur, box.done, box.dead]) {
        const path = join(dir, fileNameOf(messageId));
        const file = readEnvelopeFile(path, { fs: realFs, maxEnvelopeBytes });
        if (file.is === 'valid') return file.envelope;
      }
    }
  }
  return undefined;
}
