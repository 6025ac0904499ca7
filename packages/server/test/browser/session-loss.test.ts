import { createWorld, type World } from '@belay/testkit/world';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { findFaults } from './support/axe.js';
import { hasChromium, launchChromium } from './support/chromium.js';
import { picture } from './support/pictures.js';

const here = hasChromium();
let world: World;
let browser: Browser;
let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  if (!here) return;
  [world, browser] = await Promise.all([createWorld(), launchChromium()]);
});
afterAll(async () => {
  await browser?.close();
  await world?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  if (!here) return;
  context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  context.setDefaultTimeout(60_000);
  page = await context.newPage();
  await useNewLogin();
});
afterEach(() => context?.close());

async function useNewLogin(): Promise<void> {
  const value = await world.token('requester');
  await context.addCookies([{ name: 'belay', value, url: world.url, httpOnly: true, sameSite: 'Lax' }]);
}

const endLogins = () => world.database.sql`delete from logins`;
const words = 'The October figures do not match the ledger, and this took ten minutes to write';

/** Returns how many requests have been made with this reason. */
async function sentTimes(reason: string): Promise<number> {
  const rows = await world.database.sql`select 1 from executions where input::text like ${`%${reason}%`}`;
  return rows.length;
}

async function write(reason: string): Promise<void> {
  await page.goto(`${world.url}/roles/reader`);
  await page.getByLabel('Reason').fill(reason);
  await page.getByLabel('Duration').selectOption('PT30M');
}

async function signInAs(name: string): Promise<void> {
  await page.getByRole('main').getByRole('link', { name: 'Sign in' }).click();
  await page.getByRole('link', { name: /^Continue with Demo/ }).click();
  await page.getByRole('button', { name: `Sign in as ${name}` }).click();
}

const send = () => page.getByRole('button', { name: 'Request reader' }).click();
const nothingWasSent = () => page.getByText('Nothing was sent. What you wrote is kept in this tab').waitFor();

describe.runIf(here)('a form that is sent after the session has ended', () => {
  it('comes back with its words to the same person, who sends it once', async () => {
    await write(words);
    await endLogins();
    await send();
    await nothingWasSent();
    await picture(page, 'session-ended');
    await signInAs('Rita');
    await page.waitForURL(`${world.url}/roles/reader`);
    await page.getByText('This is what you wrote').waitFor();
    await picture(page, 'session-restored');
    expect(await page.getByLabel('Reason').inputValue()).toBe(words);
    expect(await page.getByLabel('Duration').inputValue()).toBe('PT30M');
    expect(await page.evaluate('document.activeElement.id')).toBe('reason');
    expect(await sentTimes(words)).toBe(0);
    await send();
    await page.waitForURL(/\/requests\//);
    expect(await sentTimes(words)).toBe(1);
    await page.goto(`${world.url}/roles/reader`);
    expect(await page.getByLabel('Reason').inputValue()).toBe('');
  });

  it('is not shown to another person who signs in next, nor to anyone after them', async () => {
    const secret = 'Only Rita may read this';
    await write(secret);
    await endLogins();
    await send();
    await nothingWasSent();
    expect(await page.content()).not.toContain(secret);
    await signInAs('Adam');
    await page.waitForURL(`${world.url}/roles/reader`);
    await expect.poll(() => page.evaluate('sessionStorage.length')).toBe(0);
    expect(await page.content()).not.toContain(secret);
    await useNewLogin();
    await page.goto(`${world.url}/roles/reader`);
    expect(await page.getByLabel('Reason').inputValue()).toBe('');
    expect(await sentTimes(secret)).toBe(0);
  });

  it('comes back at once when the person has signed in again in another tab', async () => {
    const reason = 'Written in the first tab';
    await write(reason);
    await endLogins();
    await useNewLogin();
    await send();
    await page.getByText('This is what you wrote').waitFor();
    expect(await page.getByLabel('Reason').inputValue()).toBe(reason);
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
    expect(await sentTimes(reason)).toBe(0);
    await send();
    await page.waitForURL(/\/requests\//);
    expect(await sentTimes(reason)).toBe(1);
  });
});

describe.runIf(here)('the page that keeps a form', () => {
  it.each(['light', 'dark'] as const)(
    'and the form that it opens have nothing that axe finds, %s',
    async (colorScheme) => {
      await page.setViewportSize({ width: 390, height: 844 });
      await page.emulateMedia({ colorScheme });
      // Blocks only this script, so that the page works as without scripts: axe itself is a script and must run.
      await page.route('**/drafts.js*', (route) => route.abort());
      await write('Looked at by axe');
      await endLogins();
      await send();
      await page.getByRole('heading', { name: 'Nothing was sent' }).waitFor();
      expect(await findFaults(page)).toEqual([]);
      await useNewLogin();
      await page.getByRole('button', { name: 'Open form' }).click();
      await page.getByText('This is what you wrote').waitFor();
      expect(await findFaults(page)).toEqual([]);
      // The notice above the form has the focus, although the form is below the description of the role.
      expect(await page.evaluate('document.activeElement.textContent')).toContain('This is what you wrote');
    },
  );
});

describe.runIf(here)('without scripts, a form that is sent after the session has ended', () => {
  beforeEach(async () => {
    await context?.close();
    context = await browser.newContext({ viewport: { width: 390, height: 844 }, javaScriptEnabled: false });
    context.setDefaultTimeout(60_000);
    page = await context.newPage();
    await useNewLogin();
  });

  /** Signs in in a new tab, so that the page does not change. */
  async function signInBeside(name: string): Promise<void> {
    const opened = context.waitForEvent('page');
    await page.getByRole('link', { name: 'Sign in (new tab)' }).click();
    const beside = await opened;
    await beside.getByRole('link', { name: /^Continue with Demo/ }).click();
    await beside.getByRole('button', { name: `Sign in as ${name}` }).click();
    await beside.getByRole('heading', { name: 'You are signed in' }).waitFor();
    await beside.close();
  }

  it('waits on its page until the same person has signed in beside it, who sends it once', async () => {
    const reason = 'Written without scripts';
    await write(reason);
    await endLogins();
    await send();
    await page.getByRole('heading', { name: 'Nothing was sent' }).waitFor();
    expect(await page.content()).not.toContain(reason);
    await picture(page, 'phone-session-ended');
    await signInBeside('Rita');
    await page.getByRole('button', { name: 'Open form' }).click();
    await page.getByText('This is what you wrote').waitFor();
    expect(await page.getByLabel('Reason').inputValue()).toBe(reason);
    expect(await page.getByLabel('Duration').inputValue()).toBe('PT30M');
    expect(await sentTimes(reason)).toBe(0);
    await send();
    await page.waitForURL(/\/requests\//);
    expect(await sentTimes(reason)).toBe(1);
  });

  it('is not shown to another person who signs in beside it', async () => {
    const secret = 'Only Rita may read this without scripts';
    await write(secret);
    await endLogins();
    await send();
    await signInBeside('Adam');
    await page.getByRole('button', { name: 'Open form' }).click();
    await page.getByText('The form was shown to another person').waitFor();
    expect(await page.content()).not.toContain(secret);
    expect(await sentTimes(secret)).toBe(0);
  });
});
