import { lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  readIdentity,
  refusalOf,
  sealEnvelope,
  verifyEnvelope,
  writeIdentity,
  type IdentityInput,
} from '../../src/mailbox/capability.ts';
import { envelopeSchema, type Envelope } from '../../src/mailbox/envelope.ts';
import { defaultLimits } from '../../src/mailbox/limits.ts';
import {
  alice,
  bob,
  brokerId,
  buildMessage,
  failOn,
  makeTempDir,
  sealMessage,
  secret,
  sessionId,
  thrownBy,
} from '../support/mailbox.ts';

const identity: IdentityInput = {
  v: 1,
  sessionId,
  brokerId,
  ...alice,
  secret,
  boxesDir: '/mailbox/alice.1',
  label: 'one',
  agent: 'collie',
};

describe('identity file', () => {
  it('comes back as it was written, with the defaults, in a file of mode 0600 (C1)', () => {
    const dir = makeTempDir();
    const path = join(dir, 'identity.json');

    writeIdentity(path, { ...identity, label: 'two' });
    writeIdentity(path, identity);

    expect(readIdentity(path)).toEqual({ ...identity, limits: defaultLimits });
    expect(lstatSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(dir)).toEqual(['identity.json']);
  });

  it.each(['writeFileSync', 'renameSync'] as const)(
    'keeps the earlier one when %s fails (C1)',
    (call) => {
      const dir = makeTempDir();
      const path = join(dir, 'identity.json');
      writeIdentity(path, identity);

      const error = thrownBy(() =>
        writeIdentity(path, { ...identity, label: 'two' }, failOn(call, 'ENOSPC').fs),
      );

      expect(error).toMatchObject({ code: 'disk_error', retryable: true });
      expect(readIdentity(path).label).toBe('one');
      expect(readdirSync(dir)).toEqual(['identity.json']);
    },
  );

  it('is broker_unavailable when it is not there', () => {
    expect(thrownBy(() => readIdentity('/nowhere/identity.json'))).toMatchObject({
      code: 'broker_unavailable',
      message: expect.stringContaining('ENOENT'),
    });
  });

  it.each([
    ['an unknown field', JSON.stringify({ ...identity, shell: '/bin/sh' }), 'shell'],
    ['a relative directory', JSON.stringify({ ...identity, boxesDir: 'here' }), 'boxesDir'],
    ['a missing agent id', JSON.stringify({ ...identity, agentId: undefined }), 'agentId'],
    ['text that is not JSON', `{"secret": "${secret}", `, 'not JSON'],
  ])('is invalid_capability with %s, and tells nobody the secret (C4)', (_what, text, named) => {
    const path = join(makeTempDir(), 'identity.json');
    writeFileSync(path, text);

    const error = thrownBy(() => readIdentity(path)) as Error;

    expect(error).toMatchObject({
      code: 'invalid_capability',
      message: expect.stringContaining(named),
    });
    expect(`${error.message}${String(error.cause)}`).not.toContain('ssss');
    expect(readFileSync(path, 'utf8')).toBe(text);
  });
});

describe('seal', () => {
  it('makes what the schema accepts and the same secret verifies (C2, C3)', () => {
    const sealed = sealMessage();

    expect(envelopeSchema.safeParse(sealed).success).toBe(true);
    expect(verifyEnvelope(sealed, secret)).toBe(true);
    expect(verifyEnvelope(sealed, 't'.repeat(64))).toBe(false);
  });

  it('does not depend on the order of keys or on absent fields', () => {
    const unsealed = buildMessage();
    const reversed = Object.fromEntries(Object.entries(unsealed).toReversed()) as typeof unsealed;

    const sealed = sealEnvelope({ ...reversed, taskId: undefined } as typeof unsealed, secret);

    expect(sealed.mac).toBe(sealEnvelope(unsealed, secret).mac);
    const arrived = envelopeSchema.parse(JSON.parse(JSON.stringify(sealed)));
    expect(verifyEnvelope(arrived, secret)).toBe(true);
  });

  it.each<Partial<Envelope>>([
    { createdAt: 1 },
    { seq: 7 },
    { hops: 7 },
    { senderId: bob.agentId },
    { targetId: bob.agentId },
  ])('does not verify once %j was changed (C3)', (change) => {
    expect(verifyEnvelope({ ...sealMessage(), ...change } as Envelope, secret)).toBe(false);
  });

  it('replaces the proof of what is passed on to another', () => {
    const passedOn = sealEnvelope({ ...sealMessage(), hops: 1 }, 't'.repeat(64));

    expect(verifyEnvelope(passedOn, 't'.repeat(64))).toBe(true);
    expect(verifyEnvelope(passedOn, secret)).toBe(false);
  });

  it('refuses fields that the reader would quarantine, and names the field (C2)', () => {
    expect(thrownBy(() => sealMessage({ content: '' }))).toMatchObject({
      code: 'invalid_envelope',
      message: expect.stringContaining('content'),
    });
  });
});

describe('refusal', () => {
  const expected = { sessionId, brokerId, secret, targetId: alice.agentId };

  it('is none for an envelope that belongs here', () => {
    expect(refusalOf(sealMessage(), expected)).toBeUndefined();
  });

  it.each([
    ['foreign_session', sealMessage({ sessionId: 'session-2' })],
    ['foreign_session', sealMessage({ brokerId: 'broker-2' })],
    ['invalid_target', sealMessage({ targetId: bob.agentId })],
    ['invalid_capability', { ...sealMessage(), mac: '0'.repeat(64) }],
  ])('is %s for one that does not', (code, envelope) => {
    expect(refusalOf(envelope, expected)).toMatchObject({ code });
  });

  it('is invalid_sender for a field that names another than the owner, valid mac or not (C3)', () => {
    const refusal = refusalOf(sealMessage({ senderId: bob.agentId }), {
      ...expected,
      senderId: alice.agentId,
    });

    expect(refusal).toMatchObject({
      code: 'invalid_sender',
      reason: expect.stringContaining(bob.agentId),
    });
  });
});
