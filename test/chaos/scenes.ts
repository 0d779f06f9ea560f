/**
 * What a parent plays, from wherever an earlier one was killed.
 *
 * In most scenes `one` has a task, sends a message, asks `two`, gets the answer, and is done, while
 * something befalls another agent. Every task is watched.
 */
import { isTold, putPast, taskTimeoutMs, tell, writeCue, type Mode } from './scene.ts';
import type { Stage } from './stage.ts';

/** Plays to where all that is left is to wait; returns the stage that stands by then. */
export type Scene = (stage: Stage) => Promise<Stage>;

async function consult(stage: Stage, more: (one: string, two: string) => Promise<unknown>) {
  const [one, two] = await stage.agentsOf('one', 'two');
  await stage.delegate(one, { do: 'consult', of: two });
  await more(one, two);
  await stage.send(one, 'go');
}

export const scenes: Readonly<Record<Mode, Scene>> = {
  async task_deadline(stage) {
    await consult(stage, (_, two) => stage.delegate(two, { do: 'nothing' }, taskTimeoutMs));
    return stage;
  },

  /** Nothing else waits for an answer here: that would have to come in time. */
  async reply_deadline(stage) {
    const [one, two, three] = await stage.agentsOf('one', 'two', 'three');
    await stage.delegate(one, { do: 'write', to: two, count: 3 });
    await stage.delegate(three, { do: 'ask', of: one });
    return stage;
  },

  /** A live parent has what the gap is about happen one after the other, and ends the same. */
  async instants(stage) {
    const { dir } = stage;
    const [one, two, three] = await stage.agentsOf('one', 'two', 'three');
    const early = await stage.delegate(one, { do: 'early', of: two });
    await stage.heard('two', 'message early');
    const late = await stage.delegate(three, { do: 'late', of: two });
    await stage.heard('two', 'message late');
    const deadlineOf = (question: string) => stage.question(question).deadlineAtMs;
    if (!isTold(dir, 'early')) {
      writeCue(dir, { early: deadlineOf('early'), late: deadlineOf('late') });
      stage.path.gap();
    }
    tell(dir, 'early');
    await stage.settled(early);
    putPast(dir, deadlineOf('late'));
    stage.lookAtClock();
    await stage.settled(late);
    tell(dir, 'late');
    await stage.heard('two', 'refused request_settled');
    return stage;
  },

  async child_death(stage) {
    await consult(stage, async () => stage.delegate(await stage.agent('three'), { do: 'die' }));
    await stage.heard('three', 'task die');
    if (!isTold(stage.dir, 'die')) stage.path.gap();
    tell(stage.dir, 'die');
    return stage;
  },

  async stale_wait(stage) {
    const { dir } = stage;
    const [two, three] = await stage.agentsOf('two', 'three');
    await stage.delegate(three, { do: 'patient', of: two });
    await stage.heard('two', 'message patient');
    if (!isTold(dir, 'patient')) {
      writeCue(dir, {
        stale: stage.question('patient').openedAtMs + (stage.rules.staleAfterMs ?? 0),
      });
      stage.path.gap();
    }
    await stage.told('stale patient');
    tell(dir, 'patient');
    return stage;
  },

  async closed_agent(stage) {
    const { dir } = stage;
    const four = await stage.agent('four');
    await stage.delegate(four, { do: 'sleep' });
    await stage.send(four, 'unheard');
    await stage.close(four);
    let last = stage;
    if (!isTold(dir, 'park')) {
      stage.path.gap();
      tell(dir, 'park');
      last = await stage.park();
    }
    await consult(last, () => Promise.resolve());
    return last;
  },
};
