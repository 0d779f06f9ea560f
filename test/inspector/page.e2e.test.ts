import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openHerd, openWait, startMs, type TestHerd } from '../support/herd.ts';
import { hasBrowser, keepPicture, launchBrowser, phone, show, small } from './browser.ts';

let browser: Browser;
beforeAll(async () => {
  if (hasBrowser) browser = await launchBrowser();
});
afterAll(async () => {
  if (hasBrowser) await browser.close();
});

const badgeOf = (page: Page, actorId: string) => page.locator(`[data-actor="${actorId}"] .badge`);

/** Ids of the states that the chart shows as active, the innermost ones. */
const litStates = (page: Page): Promise<string[]> =>
  page
    .locator('.drawing .state.is-active:not(.compound)')
    .evaluateAll((found) => found.map((state) => state.getAttribute('data-state') ?? ''));

/** The canonical flow, from the question to the end. */
async function goOn(herd: TestHerd, wait: Awaited<ReturnType<typeof openWait>>) {
  const { one, two, question } = wait;
  herd.advance(2_000);
  await two.say(one.id, 'Left.', { replyTo: question.messageId });
  herd.advance(2_000);
  await one.done('completed', { summary: 'Forty.' });
}

describe.skipIf(!hasBrowser)('the page', () => {
  it('shows a live session: states light up in order, and what became of each envelope', async () => {
    const herd = await openHerd();
    const one = await herd.hatch('one');
    const two = await herd.hatch('two', 'planner');
    const taskId = await herd.delegate(one);
    const { page, complaints } = await show(browser, herd.shepherd.sessionDir);
    await page.locator(`[data-actor="${taskId}"]`).click();
    const seen: string[][] = [];
    const look = async (badge: string): Promise<void> => {
      await badgeOf(page, taskId).getByText(badge, { exact: true }).waitFor();
      await expect.poll(() => litStates(page)).toHaveLength(1);
      seen.push(await litStates(page));
    };

    await look('running');
    one.turn('turn_started', { taskId });
    const question = await one.say(two.id, 'Which gate?', { expectsReply: true });
    await look('waiting, fresh');
    await keepPicture(page, 'live-waiting');
    await two.say(one.id, 'Left.', { replyTo: question.messageId });
    await look('running');
    await one.done('completed', { summary: 'Forty.' });
    await look('completed');

    expect(seen.flat()).toEqual([
      'task.open.running',
      'task.open.waiting.fresh',
      'task.open.running',
      'task.completed',
    ]);
    expect(await page.locator('.drawing .edge.is-taken').getAttribute('data-edge')).toContain(
      'task.open.running|task.done|task.completed',
    );
    await page.getByRole('button', { name: 'Mail', exact: true }).last().click();
    const asked = page.locator(`[data-mail="${question.messageId}"]`);
    await asked.getByText('answered').waitFor();
    expect(await asked.getAttribute('aria-label')).toContain(
      'message ? from scout: one to planner: two, answered',
    );
    await asked.click();
    await page.locator('.mail-text').getByText('Which gate?').waitFor();
    expect(complaints).toEqual([]);
  });

  it('goes back to any moment, and follows again', async () => {
    const waiting = await openWait();
    const { herd, taskId } = waiting;
    const { page } = await show(browser, herd.shepherd.sessionDir, { hash: `task=${taskId}` });
    await badgeOf(page, taskId).getByText('waiting, fresh').waitFor();
    const then = Number(await page.locator('input[type=range]').inputValue());
    await goOn(herd, waiting);
    await badgeOf(page, taskId).getByText('completed').waitFor();
    await page.locator('.task-page').getByText('completed (0)').waitFor();

    await page.locator('input[type=range]').fill(String(then));

    await badgeOf(page, taskId).getByText('waiting, fresh').waitFor();
    expect(await litStates(page)).toEqual(['task.open.waiting.fresh']);
    await page.locator('.taken').getByText('request.open').waitFor();
    await page.locator('.task-page').getByText('None yet.').waitFor();
    expect(await page.locator('.context').textContent()).toContain(waiting.question.messageId);
    await page.getByRole('button', { name: 'Mail', exact: true }).last().click();
    expect(await page.locator('[data-kind=reply]').count()).toBe(0);

    await page.getByRole('button', { name: 'Follow live' }).click();
    await badgeOf(page, taskId).getByText('completed').waitFor();
    await page.locator('[data-kind=reply]').waitFor();
  });

  it('shows a finished session, with late and refused mail, by a link to a moment', async () => {
    const herd = await openHerd();
    const child = await herd.hatch('one');
    const taskId = await herd.delegate(child);
    herd.advance(2_000);
    const refused = await child.say('nobody', 'Hello?');
    herd.shepherd.cancel(taskId);
    const late = await child.done('completed', { taskId });
    await herd.shepherd.dispose();

    const { page, url } = await show(browser, herd.shepherd.sessionDir, {
      hash: `view=mail&task=${taskId}`,
      now: () => startMs + 60_000,
    });

    await page.getByRole('status').getByText('finished').waitFor();
    await page
      .locator(`[data-mail="${refused.messageId}"]`)
      .getByText('refused: invalid_target')
      .waitFor();
    await page.locator(`[data-mail="${late.messageId}"].is-bad`).waitFor();
    await page.getByRole('button', { name: 'Task', exact: true }).last().click();
    await page.locator('.task-page').getByText('cancelled (130)').waitFor();
    await page.locator('.task-page').getByText('late task_done').waitFor();
    await keepPicture(page, 'finished-task');

    await page.keyboard.press('Home');
    await expect.poll(() => page.url()).toMatch(/at=1$/);
    await page.goto('about:blank');
    await page.goto(`${url}#task=${taskId}&at=9`);
    await page.locator('.moment').getByText('· 9 ·').waitFor();
    await badgeOf(page, taskId).waitFor();
  });

  it('is led by the keyboard', async () => {
    const { herd, taskId, one } = await openWait();
    const { page } = await show(browser, herd.shepherd.sessionDir);
    const moment = page.locator('.moment');
    const last = await moment.textContent();

    await page.keyboard.press('ArrowLeft');
    await expect.poll(() => moment.textContent()).not.toBe(last);
    await page.keyboard.press('Home');
    await moment.getByText('· 1 ·').waitFor();
    await page.keyboard.press('ArrowRight');
    await moment.getByText('· 2 ·').waitFor();
    await page.keyboard.press('f');
    await expect.poll(() => moment.textContent()).toBe(last);
    await page.locator('[data-actor=session]').focus();
    await page.keyboard.press('ArrowDown');
    await page.locator(`[data-actor="${one.id}"][aria-current]`).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.locator(`[data-actor="${taskId}"][aria-current]`).waitFor();
    await page.locator('.taken').getByText('request.open').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('two');
    await expect.poll(() => page.locator('.tree-row').count()).toBe(1);
    expect(page.url()).toContain('search=two');
  });

  it.each([
    ['small', small],
    ['phone', phone],
  ] as const)('fits a screen as wide as a %s one, light and dark', async (name, viewport) => {
    const { herd, taskId } = await openWait();
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page } = await show(browser, herd.shepherd.sessionDir, {
        viewport,
        colorScheme,
        hash: `task=${taskId}`,
      });
      for (const view of ['Herd', 'Chart', 'Mail', 'Steps', 'Task']) {
        const tab = page.locator('nav:visible').getByRole('button', { name: view, exact: true });
        if (await tab.count()) await tab.click();
        const size = await page.evaluate(
          'JSON.stringify([document.documentElement.scrollWidth, document.documentElement.scrollHeight])',
        );
        expect([view, size]).toEqual([view, JSON.stringify([viewport.width, viewport.height])]);
        await keepPicture(page, `${name}-${colorScheme}-${view.toLowerCase()}`);
      }
    }
  });

  it('does not jump while things happen', async () => {
    const { herd, one, taskId } = await openWait();
    const { page } = await show(browser, herd.shepherd.sessionDir, {
      hash: `view=mail&task=${taskId}&at=12`,
    });
    const places = () =>
      page.evaluate(
        `JSON.stringify([...document.querySelectorAll('.toolbar > *, main > *, .timeline > *, .tree-row, .mail-row, .taken')].map((one) => { const { x, y, width, height } = one.getBoundingClientRect(); return [one.className, x, y, width, height]; }))`,
      );
    await expect.poll(places).toBe(await places());
    const before = await places();

    for (const turn of [1, 2, 3, 4, 5]) {
      one.turn('turn_started');
      await one.say('shepherd', `Baa ${turn}.`);
      one.turn('turn_settled');
    }
    const range = page.locator('input[type=range]');
    await expect.poll(() => range.getAttribute('max').then(Number)).toBeGreaterThan(20);

    expect(await places()).toBe(before);
  });

  it('stays quick with 10,000 steps: only what can be seen is drawn', async () => {
    const { herd, one, taskId } = await openWait();
    const [row] = herd.store.journal({ after: 0, limit: 99 }).slice(-1);
    if (row === undefined) throw new Error('no step');
    const { seq, ...journal } = row;
    herd.store.transaction(() => {
      for (let step = 0; step < 10_000; step += 1) {
        const id = `shepherd-message-${String(step).padStart(24, '0')}`;
        const moves = [{ messageId: id, kind: 'message', from: one.id, to: 'shepherd' }];
        herd.store.commit({
          puts: [],
          deletes: [],
          snapshots: new Map(),
          journal: { ...journal, atMs: startMs + step, moves },
        });
      }
    });

    const { page } = await show(browser, herd.shepherd.sessionDir, { hash: `view=steps` });

    const range = page.locator('input[type=range]');
    await expect
      .poll(() => range.getAttribute('max').then(Number), { timeout: 20_000 })
      .toBeGreaterThan(10_000);
    for (const view of ['Steps', 'Mail']) {
      await page.locator('nav:visible').getByRole('button', { name: view, exact: true }).click();
      expect(Number(await page.evaluate("document.querySelectorAll('*').length"))).toBeLessThan(
        2_500,
      );
    }
    const frames = await page.evaluate(`(async () => {
      const list = document.querySelector('.mail .list');
      let longest = 0;
      for (let frame = 0; frame < 30; frame += 1) {
        const began = performance.now();
        list.scrollTop = (list.scrollHeight * frame) / 30;
        await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
        longest = Math.max(longest, performance.now() - began);
      }
      return [list.scrollHeight > 300000, document.querySelectorAll('.mail-row').length > 5, longest];
    })()`);
    expect(frames).toEqual([true, true, expect.any(Number)]);
    expect(await badgeOf(page, taskId).textContent()).toBe('waiting, fresh');
  });

  it('says when its server has gone', async () => {
    const { herd } = await openWait();
    const { page } = await show(browser, herd.shepherd.sessionDir);
    const state = page.locator('.toolbar [role=status]');
    await state.getByText('live').waitFor();

    await page.route('**', (route) => route.abort());

    await expect.poll(() => state.textContent(), { timeout: 20_000 }).toBe('not reachable');
  });
});
