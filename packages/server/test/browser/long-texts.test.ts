/// <reference lib="dom" />
import { createLogin, upsertUser } from '@belay/core';
import { send } from '@belay/testkit/serve';
import { createWorld, type World } from '@belay/testkit/world';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasChromium, launchChromium } from './support/chromium.js';

const here = hasChromium();
const long = 'w'.repeat(300);
const rightToLeft = 'محمد عبد الرحمن الخوارزمي';
let world: World;
let browser: Browser;

beforeAll(async () => {
  if (!here) return;
  [world, browser] = await Promise.all([
    createWorld({
      change: (document) => ({
        ...document,
        access: { administrators: { groups: ['approvers'] } },
        roles: { ...document.roles, reader: { ...document.roles.reader, description: `${rightToLeft} ${long}` } },
      }),
    }),
    launchChromium(),
  ]);
});
afterAll(async () => {
  await browser?.close();
  await world?.[Symbol.asyncDispose]();
});

async function signIn(subject: string, name: string, group: string): Promise<string> {
  const known = { id: world.context.newId(), provider: 'demo', subject, name, groups: [group] };
  const user = await upsertUser(world.database.db, { ...known, email: `${subject}@example.test` });
  return (await createLogin(world.context, { user, kind: 'browser' })).token;
}

async function request(token: string, reason: string): Promise<string> {
  const { status, body } = await send(`${world.url}/api/v1/elevate`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, accept: 'application/json', 'content-type': 'application/json' },
    body: JSON.stringify({ role: 'reader', reason }),
  });
  expect(status).toBe(200);
  return (JSON.parse(body) as { output: { execution_id: string } }).output.execution_id;
}

describe.runIf(here)('on a phone', () => {
  it('no page is wider than the screen with long names and reasons, from right to left, or with nothing on it', async () => {
    const requester = await signIn('long', long, 'engineers');
    const other = await signIn('right-to-left', rightToLeft, 'engineers');
    const approver = await signIn('approver', `${rightToLeft}${long}`, 'approvers');
    const newcomer = await signIn('newcomer', 'Newcomer', 'engineers');
    const ids = [await request(requester, long), await request(other, rightToLeft)];
    await world.drive();
    const own = [
      '/',
      '/roles',
      '/roles/reader',
      '/requests',
      '/requests?status=past',
      '/access',
      '/audit',
      '/settings',
    ];
    const requests = ids.map((id) => `/requests/${id}`);
    const administered = ['access', 'logs', 'people', 'overdue', 'agents'].map((page) => `/admin/${page}`);
    const visits: [string, string[]][] = [
      [requester, [...own, requests[0] ?? '', '/inbox']],
      [other, [...own, requests[1] ?? '']],
      [approver, ['/', '/inbox', ...ids.map((id) => `/requests/${id}`), `/search?q=${long}`, ...administered]],
      [newcomer, [...own, '/inbox', `/roles?q=${long}`, '/requests/none']],
    ];
    const wide: string[] = [];
    for (const [token, paths] of visits) {
      const context = await browser.newContext({ viewport: { width: 390, height: 844 } });
      context.setDefaultTimeout(60_000);
      await context.addCookies([{ name: 'belay', value: token, url: world.url, httpOnly: true, sameSite: 'Lax' }]);
      const page = await context.newPage();
      for (const path of paths) {
        await page.goto(`${world.url}${path}`);
        const width = await page.evaluate(() => document.documentElement.scrollWidth);
        if (width > 390) wide.push(`${path} is ${width} wide`);
      }
      await context.close();
    }
    expect(wide).toEqual([]);
  }, 300_000);
});
