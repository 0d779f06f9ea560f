import { describe, expect, it } from 'vitest';
import { SHEPHERD_ID } from '../../src/ids.ts';
import { mailOf, openPasture, stateOf } from '../support/conversation.ts';

describe('a name', () => {
  it.each([
    ['a label', 'north pasture', 'north'],
    ['definition and label', 'scout: south pasture', 'south'],
    ['the beginning of a label', 'north', 'north'],
    ['the beginning of definition and label', 'scout: so', 'south'],
    ['the definition that one agent has', 'planner', 'shearer'],
    ['a beginning that every id has too', 'she', 'shearer'],
  ] as const)('that is %s means its agent', async (_name, target, expected) => {
    const pasture = await openPasture();
    const { herd, shearer, north } = pasture;

    expect(herd.shepherd.status(target).id).toBe(pasture[expected].id);
    const sender = expected === 'shearer' ? north : shearer;
    expect(await sender.say(target, 'Hello.')).toMatchObject({
      ok: true,
      data: { targetId: pasture[expected].id },
    });
  });

  it('that begins one agent’s id means that agent', async () => {
    const { herd, north } = await openPasture();

    expect(herd.shepherd.status(north.id.slice(0, -2)).id).toBe(north.id);
    expect(herd.shepherd.status(north.id.slice('shepherd-agent-'.length, -2)).id).toBe(north.id);
  });

  it.each(['shepherd', 'parent'])('“%s” means the Shepherd', async (target) => {
    const { herd, north } = await openPasture();

    expect(await north.say(target, 'Hello.')).toMatchObject({ data: { targetId: SHEPHERD_ID } });
    expect(herd.notices).toHaveLength(1);
    expect(() => herd.shepherd.status(target)).toThrow(
      expect.objectContaining({ code: 'invalid_target' }),
    );
  });

  it.each([
    ['that two agents share', 'scout', 'ambiguous_target', ['north', 'south']],
    ['that two agents’ names begin with', 'scout: ', 'ambiguous_target', ['north', 'south']],
    ['that is misspelt', 'nroth pasture', 'invalid_target', ['north']],
    ['in other case', 'Shepherd', 'invalid_target', []],
    ['that begins every id', 'shepherd-agent-', 'invalid_target', []],
    ['of a wolf', 'shepherd-agent-000000000000', 'invalid_target', []],
  ] as const)('%s is refused and names candidates', async (_name, target, code, named) => {
    const pasture = await openPasture();
    const { herd, shearer } = pasture;
    const before = stateOf(herd);

    const answer = await shearer.say(target, 'Hello.');

    expect(answer).toMatchObject({ ok: false, code });
    for (const name of named) expect(answer.error).toContain(pasture[name].id);
    const said = { target, message: 'Hello.' };
    await expect(herd.shepherd.message(said)).rejects.toMatchObject({ code });
    expect(stateOf(herd)).toEqual(before);
  });

  it('puts the nearest first', async () => {
    const { north, shearer } = await openPasture();

    const { data } = await shearer.say('nroth pasture', 'Hello.');

    expect((data['nearest'] as string[])[0]).toBe(north.id);
  });

  it('of an agent that has ended says so by its id, and is unknown by its label', async () => {
    const { herd, north, south } = await openPasture();
    await herd.shepherd.close(north.id);

    expect(await south.say(north.id, 'Hello?')).toMatchObject({ ok: false, code: 'agent_closed' });
    expect(await south.say('north pasture', 'Hello?')).toMatchObject({ code: 'invalid_target' });
    expect(await south.say('scout', 'Hello?')).toMatchObject({ ok: false });
  });

  it('of an ended agent goes to a new one, with another id and an empty inbox', async () => {
    const { herd, north, south } = await openPasture();
    await north.say(south.id, 'For the old one.');
    await herd.shepherd.close(south.id);

    const again = await herd.hatch('south pasture');
    await north.say('south pasture', 'For the new one.');

    expect(again.id).not.toBe(south.id);
    await again.receives('message');
    expect(mailOf(again)).toEqual(['For the new one.']);
  });

  it('of an agent that is being closed is refused', async () => {
    const { herd, north, south } = await openPasture();
    herd.host.setPresence(`${north.id}.1`, 'unknown');
    await expect(herd.shepherd.close(north.id)).rejects.toMatchObject({
      code: 'close_unconfirmed',
      retryable: true,
    });

    const said = { target: north.id, message: 'Hello?' };
    await expect(herd.shepherd.message(said)).rejects.toMatchObject({ code: 'agent_closed' });

    expect(await south.say('north', 'Hello?')).toMatchObject({ ok: false, code: 'agent_closed' });
    expect(herd.shepherd.status(north.id).state).toBe('closing');
  });
});
