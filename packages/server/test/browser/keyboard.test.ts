/// <reference lib="dom" />
import { createClient } from '@belay/sdk';
import { createWorld, type World } from '@belay/testkit/world';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasChromium, launchChromium } from './support/chromium.js';

const here = hasChromium();
let world: World;
let browser: Browser;

beforeAll(async () => {
  if (!here) return;
  [world, browser] = await Promise.all([createWorld({ work: true }), launchChromium()]);
});
afterAll(async () => {
  await browser?.close();
  await world?.[Symbol.asyncDispose]();
});

/** Returns the name of the element that has the focus, and whether its focus is visible. */
const focused = (page: Page) =>
  page.evaluate(() => {
    const element = document.activeElement;
    if (element === null || element === document.body) return { name: '', visible: false };
    const label = (element as HTMLInputElement).labels?.[0]?.textContent;
    const name = (element.ariaLabel ?? label ?? element.textContent ?? '').trim();
    const { top, bottom, left, right } = element.getBoundingClientRect();
    const onScreen = bottom > 0 && right > 0 && top < innerHeight && left < innerWidth;
    const marked = [undefined, '::after'].some((part) => {
      const { outlineStyle, outlineWidth } = getComputedStyle(element, part);
      return outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 1;
    });
    return { name, visible: onScreen && marked };
  });

/** Presses Tab until an element with this name has the focus. Expects the focus to be visible at each step. */
async function reach(page: Page, name: RegExp, key = 'Tab'): Promise<void> {
  const seen: string[] = [];
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press(key);
    const at = await focused(page);
    // After the last element of a page the focus moves to the browser's own toolbars.
    if (at.name !== '') expect(at).toEqual({ name: at.name, visible: true });
    if (name.test(at.name)) return;
    seen.push(at.name);
  }
  expect.fail(`${name} is not reached on ${page.url()}; there are: ${seen.join(' | ')}`);
}

async function press(page: Page, name: RegExp): Promise<void> {
  await reach(page, name);
  await page.keyboard.press('Enter');
}

const palette = (page: Page) => page.locator('dialog.palette input');

/** Opens a page with the command palette. */
async function goTo(page: Page, words: string, found: RegExp, address: RegExp): Promise<void> {
  await page.waitForLoadState();
  await page.keyboard.press('Control+k');
  await palette(page).waitFor();
  await page.keyboard.type(words);
  await page.locator('dialog [aria-selected="true"]', { hasText: found }).waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL(address);
}

async function signIn(name: string): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  await page.goto(world.url);
  await press(page, /^Continue with Demo/);
  await page.getByRole('button', { name: `Sign in as ${name}` }).waitFor();
  for (let presses = 0; presses < 20 && (await focused(page)).name !== `Sign in as ${name}`; presses++)
    await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: `Hello, ${name}` }).waitFor();
  return page;
}

async function request(page: Page, reason: string): Promise<string> {
  await goTo(page, 'reader', /reader/, /\/roles\/reader$/);
  await reach(page, /^Reason$/);
  await page.keyboard.type(reason);
  await press(page, /^Request reader$/);
  await page.waitForURL(/\/requests\//);
  await page.getByRole('heading', { name: 'The request waits for approval' }).waitFor();
  return page.url();
}

/** Waits until this request is open in the inbox, and the page responds to keys. */
async function opened(page: Page, reason: string): Promise<void> {
  await page.locator('#opened', { hasText: reason }).waitFor();
  await page.waitForLoadState();
}

describe.runIf(here)('without a mouse', () => {
  it('a person signs in, requests, finds the request, and sees it granted, while another decides in the inbox', async () => {
    const rita = await signIn('Rita');
    await request(rita, 'The first by keys');
    const second = await request(rita, 'The second by keys');

    // The help and the palette return the focus to the element that had it.
    const adam = await signIn('Adam');
    await goTo(adam, 'inbox', /Inbox/, /\/inbox/);
    await opened(adam, 'The first by keys');
    await reach(adam, /^Keyboard shortcuts$/);
    const before = await focused(adam);
    await adam.keyboard.press('?');
    await adam.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await adam.keyboard.press('Escape');
    await adam.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor({ state: 'hidden' });
    expect(await focused(adam)).toEqual(before);
    await adam.keyboard.press('Control+k');
    await palette(adam).waitFor();
    await adam.keyboard.press('Escape');
    await palette(adam).waitFor({ state: 'hidden' });
    expect(await focused(adam)).toEqual(before);

    // To the next request and back. The first one is denied, and then the next waiting request is open.
    await adam.keyboard.press('j');
    await opened(adam, 'The second by keys');
    await adam.keyboard.press('k');
    await opened(adam, 'The first by keys');
    await adam.keyboard.press('d');
    expect(await focused(adam)).toEqual({ name: 'Deny and next', visible: true });
    await adam.keyboard.press('Enter');
    await opened(adam, 'The second by keys');

    // The focus on the page of the request is not lost when the page updates itself.
    await reach(rita, /^Cancel request$/);
    await adam.keyboard.press('a');
    expect(await focused(adam)).toEqual({ name: 'Approve and next', visible: true });
    await adam.keyboard.press('Enter');
    await adam.locator('#opened', { hasText: 'The second by keys' }).waitFor({ state: 'detached' });
    await rita.getByRole('heading', { name: 'The access is active' }).waitFor();
    expect((await focused(rita)).name).not.toBe('');

    // The history by its tab and its search. Then back to the request, whose access is given back.
    await goTo(rita, 'requests', /^Requests/, /\/requests$/);
    await press(rita, /^Past/);
    await rita.waitForURL(/status=past/);
    await rita.waitForLoadState();
    await rita.keyboard.press('/');
    await rita.keyboard.type('reader');
    await rita.keyboard.press('Enter');
    await rita.waitForURL(/q=reader/);
    await press(rita, /^reader/);
    await rita.getByRole('heading', { name: 'The request was denied' }).waitFor();
    await rita.goto(second);
    await reach(rita, /^Give back/);
    // The page updates itself just before the key is pressed.
    const approver = createClient({ url: world.url, token: await world.token('approver', 'device') });
    await approver.comments.add({ id: second.split('/').at(-1) ?? '', text: 'Mind the ledger' });
    await rita.getByText('Mind the ledger').first().waitFor();
    expect((await focused(rita)).name).toMatch(/^Give back/);
    await rita.keyboard.press('Enter');
    await rita.getByRole('heading', { name: 'The access has ended' }).waitFor();
    await Promise.all([rita.context().close(), adam.context().close()]);
  }, 300_000);
});
