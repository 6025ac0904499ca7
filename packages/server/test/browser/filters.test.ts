/// <reference lib="dom" />
import { createWorld, type World } from '@belay/testkit/world';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callRest } from '../http/support/caller.js';
import { findFaults } from './support/axe.js';
import { hasChromium, launchChromium } from './support/chromium.js';

const here = hasChromium();
const role = 'platform-kubernetes-orders-catalogue-administration-debug';
let world: World;
let browser: Browser;
let adam: string;

beforeAll(async () => {
  if (!here) return;
  [world, browser] = await Promise.all([
    createWorld({
      change: (document) => ({
        ...document,
        access: { administrators: { groups: ['approvers'] } },
        roles: { ...document.roles, [role]: { ...document.roles.reader } },
      }),
    }),
    launchChromium(),
  ]);
  adam = await world.token('approver');
});
afterAll(async () => {
  await browser?.close();
  await world?.[Symbol.asyncDispose]();
});

async function open(path: string, width: number, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({ viewport: { width, height: 844 }, ...options });
  context.setDefaultTimeout(30_000);
  await context.addCookies([{ name: 'belay', value: adam, url: world.url, httpOnly: true, sameSite: 'Lax' }]);
  const page = await context.newPage();
  await page.goto(`${world.url}${path}`);
  return page;
}

const lists: [path: string, field: string][] = [
  ['/admin/logs', 'Role'],
  ['/admin/access', 'Role'],
  ['/audit', 'System'],
  ['/inbox', 'Requester'],
];

describe.runIf(here)('the filters of a list', () => {
  it.each(lists)(
    'of %s are folded on a phone, with how many are set, and are all there with the keyboard',
    async (path, field) => {
      const page = await open(path, 390);
      const summary = page.locator('#filters > summary');
      expect((await summary.boundingBox())?.height).toBeLessThanOrEqual(44);
      expect(await page.getByLabel(field, { exact: true }).isVisible()).toBe(false);
      await summary.focus();
      await page.keyboard.press('Enter');
      await page.keyboard.press('Tab');
      await page.getByLabel(field, { exact: true }).fill('rita@example.test');
      expect(await findFaults(page)).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
      await page.keyboard.press('Enter');
      await page.waitForURL(/rita/);
      // Empty fields are not in the address.
      expect([...new URL(page.url()).searchParams.values()]).not.toContain('');
      expect(await summary.textContent()).toMatch(/1 set$/);
      expect(await page.getByLabel(field, { exact: true }).isVisible()).toBe(false);
      await page.context().close();
    },
  );

  it.each(lists)('of %s are unfolded on other screens', async (path, field) => {
    const page = await open(path, 1280);
    expect(await page.getByLabel(field, { exact: true }).isVisible()).toBe(true);
    expect(await page.locator('#filters > summary').isVisible()).toBe(false);
    expect(await findFaults(page)).toEqual([]);
    await page.context().close();
  });

  it('take times of the reader, and keep them in UTC in the address', async () => {
    const page = await open('/admin/logs', 1280, { timezoneId: 'Asia/Kolkata' });
    await page.getByLabel('From (your time)').fill('2026-01-31T09:30');
    await page.getByLabel('Until (your time)').fill('2026-01-31T09:30');
    await page.getByRole('button', { name: 'Filter', exact: true }).click();
    await page.waitForURL(/since/);
    expect(new URL(page.url()).search).toBe('?since=2026-01-31T04%3A00%3A00Z&until=2026-01-31T04%3A00%3A59.999Z');
    expect(await page.getByLabel('From (your time)').inputValue()).toBe('2026-01-31T09:30');
    expect(await page.getByLabel('Until (your time)').inputValue()).toBe('2026-01-31T09:30');
    await page.getByRole('link', { name: 'Clear filters' }).click();
    await page.waitForURL(`${world.url}/admin/logs`);
    await page.context().close();
  });

  it('take times in UTC without scripts, and say so', async () => {
    const page = await open('/audit', 390, { javaScriptEnabled: false, timezoneId: 'Asia/Kolkata' });
    await page.locator('#filters > summary').click();
    await page.getByLabel('From (UTC)').fill('2026-01-31T09:30');
    await page.getByRole('button', { name: 'Filter events' }).click();
    await page.waitForURL(/since=2026-01-31T09%3A30/);
    await page.locator('#filters > summary', { hasText: '1 set' }).click();
    expect(await page.getByLabel('From (UTC)').inputValue()).toBe('2026-01-31T09:30');
    await page.context().close();
  });

  it('name the field that is not a time, on the list itself', async () => {
    const page = await open('/audit?since=yesterday', 390);
    await page.getByRole('alert').getByRole('link', { name: 'From' }).click();
    expect(await page.getByLabel('From (your time)').isVisible()).toBe(true);
    expect(await page.getByLabel('From (your time)').getAttribute('aria-invalid')).toBe('true');
    expect(await findFaults(page)).toEqual([]);
    await page.context().close();
  });
});

describe.runIf(here)('a row of the inbox', () => {
  it.each([390, 1280])(
    'has the role on at most two lines at %i px, and a question beside the reason',
    async (width) => {
      const rita = await world.token('requester');
      const body = { role: { name: role }, reason: 'The nightly report is missing two branches of the catalogue' };
      const { json } = await callRest(world.url, 'POST', '/elevate', { token: rita, body });
      const { execution_id: id } = json.output as { execution_id: string };
      await world.drive();
      const question = { kind: 'question', text: 'Which order is it about?' };
      await callRest(world.url, 'POST', `/execution/${id}/comments`, { token: adam, body: question });
      const page = await open('/inbox', width);
      const row = page.locator('#inbox .row', { hasText: 'Question open' }).first();
      const box = async (part: string) => {
        const found = await row.locator(part).boundingBox();
        return found ?? expect.fail(`${part} is not shown`);
      };
      const [title, reason, mark, age] = await Promise.all([
        box('.row-title'),
        box('.row-sub'),
        box('.badge'),
        box('time'),
      ]);
      expect(title.height).toBeLessThanOrEqual(44);
      expect(mark.y).toBeGreaterThanOrEqual(title.y + title.height - 1);
      expect(Math.abs(mark.y + mark.height / 2 - (reason.y + reason.height / 2))).toBeLessThanOrEqual(4);
      expect(age.y).toBeLessThan(title.y + 12);
      await page.context().close();
    },
  );
});
