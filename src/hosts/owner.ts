/**
 * Who owns a session, and whether that process still lives: told by `owner.json`, judged by anybody.
 *
 * W1. `dead` is a proof. What cannot be seen from here (another machine, another container, a hidden
 *     process) or cannot be read is `unknown`, and nobody acts on that.
 * W2. The file names the owner of the moment: a restarted parent writes itself there, and whoever
 *     judges reads it anew.
 *
 * Linux tells all of an identity (`/proc`). Elsewhere the start time, boot and pid namespace are
 * `null`, and so every owner is `unknown`.
 */
import { readFile, readlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { z } from 'zod';
import { describeError, HostError, MailboxError } from '../errors.ts';
import { errnoOf, identify, presenceOf } from './processes.ts';
import { readRecord, writeRecord } from './record-file.ts';

/** One process among all machines and containers; `null` where the platform does not tell. */
export const ownerIdentitySchema = z.strictObject({
  pid: z.int().positive(),
  /** Clock ticks from boot to its start. */
  startTime: z.int().nonnegative().nullable(),
  /** Drawn anew by the kernel at each boot. */
  bootId: z.string().min(1).nullable(),
  /** `pid:[…]`: a pid means something only within its namespace. */
  pidNamespace: z.string().min(1).nullable(),
  hostName: z.string().min(1).nullable(),
});
export type OwnerIdentity = Readonly<z.infer<typeof ownerIdentitySchema>>;

const ownerRecordSchema = z.strictObject({
  v: z.literal(1),
  owner: ownerIdentitySchema,
  /** Epoch ms. */
  takenAtMs: z.int().nonnegative(),
  /** The owner left its children on purpose: their runners keep them, however long it is gone. */
  stayOpen: z.boolean().optional(),
});
/** What `owner.json` says. */
export type OwnerRecord = Readonly<z.infer<typeof ownerRecordSchema>>;

export type OwnerVerdict = 'alive' | 'dead' | 'unknown';

/**
 * Names this process, so that it can be found or proven dead later.
 *
 * @throws HostError `uncertain`, retryable, when the platform would tell but cannot now (EMFILE): a
 *   `null` would stay in the owner's record for good.
 */
export async function describeSelf(): Promise<OwnerIdentity> {
  const { pid } = process;
  try {
    // Below `unshare --pid` /proc may still be that of the outer namespace, where this pid is another's.
    const procIsOurs = (await tell('/proc/self', readlink)) === String(pid);
    const [identity, bootId, pidNamespace] = await Promise.all([
      procIsOurs ? identify(pid) : { pid, startTime: null },
      tell('/proc/sys/kernel/random/boot_id', (file) => readFile(file, 'utf8')),
      tell('/proc/self/ns/pid', readlink),
    ]);
    return { ...identity, bootId, pidNamespace, hostName: hostname() || null };
  } catch (error) {
    throw new HostError('uncertain', `cannot tell who this process is: ${describeError(error)}`, {
      cause: error,
      retryable: true,
    });
  }
}

/**
 * Says whether an owner still runs; never throws.
 *
 * @param self Who judges. Default: this process.
 */
export async function judgeOwner(
  owner: OwnerIdentity,
  self?: OwnerIdentity,
): Promise<OwnerVerdict> {
  try {
    return await judge(owner, self ?? (await describeSelf()));
  } catch {
    // No descriptor left, an unreadable /proc: that proves nothing (W1).
    return 'unknown';
  }
}

/**
 * Reads who owns the session, or `undefined` when nobody wrote it.
 *
 * @throws HostError `uncertain` for a file that is there but cannot be read (then `retryable`) or is
 *   no owner record.
 */
export function readOwner(file: string): Promise<OwnerRecord | undefined> {
  return readRecord(file, ownerRecordSchema);
}

/**
 * Writes who owns the session, 0600; a reader sees the whole record or the one before.
 *
 * @throws MailboxError `disk_error`, retryable; the record before stays.
 */
export async function writeOwner(file: string, record: OwnerRecord): Promise<void> {
  try {
    await writeRecord(file, record);
  } catch (error) {
    throw new MailboxError('disk_error', `could not write ${file}: ${describeError(error)}`, {
      cause: error,
      retryable: true,
    });
  }
}

async function judge(owner: OwnerIdentity, self: OwnerIdentity): Promise<OwnerVerdict> {
  // First: a boot id and a pid of another machine or container say nothing here.
  if (!isSame(owner.hostName, self.hostName)) return 'unknown';
  if (!isSame(owner.pidNamespace, self.pidNamespace)) return 'unknown';
  const whole = [owner, self].every(
    ({ bootId, startTime }) => bootId !== null && startTime !== null,
  );
  if (!whole) return 'unknown';
  return owner.bootId === self.bootId ? presenceOf(owner) : 'dead';
}

function isSame(one: string | null, other: string | null): boolean {
  return one !== null && one === other;
}

/** What the platform tells in a file, or `null` where it has no such file or keeps it to itself. */
async function tell(file: string, read: (file: string) => Promise<string>): Promise<string | null> {
  try {
    return (await read(file)).trim() || null;
  } catch (error) {
    const code = errnoOf(error) ?? '';
    if (['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'EINVAL'].includes(code)) return null;
    throw error;
  }
}
