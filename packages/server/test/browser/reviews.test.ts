import { createWorld } from '@belay/testkit/world';
import { describe, expect, it } from 'vitest';
import { callRest } from '../http/support/caller.js';
import { findFaults } from './support/axe.js';
import { hasChromium, launchChromium } from './support/chromium.js';

const atOnce = {
  document: { dsl: '1.0.3', namespace: 'test', name: 'at-once', version: '1.0.0' },
  do: [{ grant: { call: 'access.grant' } }],
};
const review = { by: { groups: ['approvers'] } };

describe.runIf(hasChromium())('the review of an emergency in a browser', () => {
  it.each([true, false])('is closed on its page, which everyone can read (scripts: %s)', async (javaScriptEnabled) => {
    await using world = await createWorld({
      change: ({ roles, workflows, ...document }) => ({
        ...document,
        messages: { channels: ['store'] },
        roles: {
          reader: { ...roles.reader, workflows: ['at-once'], break_glass: { tell: { groups: ['watch'] }, review } },
        },
        workflows: { ...workflows, 'at-once': { workflow: atOnce } },
      }),
    });
    await world.database.setTime(new Date());
    const asked = { role: 'reader', reason: 'INC-4711: the store was down', duration: 'PT1M' };
    await callRest(world.url, 'POST', '/elevate', { token: await world.token('requester'), body: asked });
    await world.drive();
    await world.database.advance(5 * 60_000);
    await world.drive();
    await using browser = await launchChromium();
    const context = await browser.newContext({ javaScriptEnabled });
    await context.addCookies([{ name: 'belay', value: await world.token('approver'), url: world.url }]);
    const page = await context.newPage();
    const faults = async () => (javaScriptEnabled ? findFaults(page) : []);
    await page.goto(world.url);
    await page.getByRole('link', { name: 'Reviews' }).click();
    expect(await faults()).toEqual([]);
    await page.getByRole('button', { name: /Review use/ }).click();
    await page.getByLabel('What you found').fill('The queue was stuck');
    expect(await faults()).toEqual([]);
    await page.getByRole('button', { name: 'Justified', exact: true }).click();
    await page.waitForURL(/execution_id/);
    expect(await page.locator('main').textContent()).toMatch(/Justified.*The queue was stuck/s);
    await page.getByRole('link', { name: 'View request' }).click();
    await page.getByRole('heading', { name: 'The access has ended' }).waitFor();
    expect(await page.locator('main').textContent()).toContain('found it justified: The queue was stuck');
    expect(await faults()).toEqual([]);
  });
});
