/// <reference lib="dom" />
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findFaults } from './support/axe.js';
import { hasChromium } from './support/chromium.js';
import { picture } from './support/pictures.js';
import { ask, elsewhere, openStage, type Stage, type Visitor } from './support/stage.js';

let stage: Stage;
let rita: Visitor;
let adam: Visitor;
let bea: Visitor;
const here = hasChromium();
beforeAll(async () => {
  if (!here) return;
  stage = await openStage();
  [rita, adam, bea] = await Promise.all([stage.signIn('rita'), stage.signIn('adam'), stage.signIn('bea')]);
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const api = (path: string) => `${stage.url}/api/v1/${path}`;
const state = (page: Page, text: string) => page.getByRole('heading', { name: text }).waitFor();
const mark = (page: Page) => page.evaluate(() => Object.assign(globalThis, { stillHere: true }));
const isSameDocument = (page: Page) => page.evaluate(() => 'stillHere' in globalThis);

/** Calls an address as a script of our own page would. */
const call = (page: Page, path: string, body?: object) =>
  page.evaluate(
    async ([address, json]) => {
      const answer = await fetch(address as string, {
        method: json === undefined ? 'GET' : 'POST',
        headers: { accept: 'application/json', 'content-type': 'application/json' },
        ...(json === undefined ? {} : { body: json }),
      });
      return { status: answer.status, json: (await answer.json()) as Record<string, unknown> };
    },
    [path, body === undefined ? undefined : JSON.stringify(body)] as const,
  );

async function decide(page: Page, verdict: 'Approve' | 'Deny', remark: string): Promise<void> {
  await page.goto(api('approvals'));
  await page.getByLabel('Comment').first().fill(remark);
  await page.getByRole('button', { name: `${verdict} and next` }).click();
  await page.waitForURL(/\/inbox(\?|$)/);
}

describe.runIf(here)('the story in a browser', () => {
  it('is requested, approved by another person, becomes active on the open page, and is given back', async () => {
    await rita.page.goto(api('roles'));
    await picture(rita.page, 'ask');
    await rita.page.goto(api('role/reporting-readonly'));
    expect(await rita.page.locator('main').textContent()).toMatch(/One person of the group approvers, within 4 hours/);
    await rita.page.getByLabel('Reason').fill('The September figures look wrong');
    await picture(rita.page, 'role');
    const path = await ask(rita.page, stage.url, 'The September figures look wrong: I compare them with the ledger');
    await state(rita.page, 'The request waits for approval');
    await picture(rita.page, 'waiting');
    await mark(rita.page);

    // She cannot decide on her own request: there is no form, and a call is rejected.
    expect(await rita.page.getByRole('button', { name: 'Approve' }).count()).toBe(0);
    const id = path.split('/').at(-1) ?? '';
    const aside = await rita.context.newPage();
    await aside.goto(api('home'));
    const own = await call(aside, `/api/v1/approvals/${id}/decision`, { verdict: 'approve' });
    expect(own.status).toBe(403);
    await aside.close();
    // Bea cannot see the request.
    expect((await bea.page.goto(`${stage.url}${path}`))?.status()).toBe(404);
    await picture(bea.page, 'not-found');

    await adam.page.goto(api('home'));
    await adam.page.getByRole('heading', { name: '1 request waits for your decision' }).waitFor();
    await picture(adam.page, 'home');
    await adam.page.goto(api('approvals'));
    expect(await adam.page.locator('#opened').textContent()).toMatch(
      /role reporting_readonly at demo-postgres to rita/,
    );
    await picture(adam.page, 'inbox');
    await decide(adam.page, 'Approve', 'Fine for today');

    await state(rita.page, 'The access is active');
    expect(await isSameDocument(rita.page)).toBe(true);
    await expect
      .poll(() => rita.page.locator('#news').textContent(), { timeout: 30_000 })
      .toContain('The access is active');
    expect(await rita.page.locator('#state').textContent()).toMatch(/1[45] min \d+ s left/);
    await picture(rita.page, 'active');

    await rita.page.goto(api('access'));
    await picture(rita.page, 'access');
    await rita.page.getByRole('button', { name: 'Give back' }).click();
    await state(rita.page, 'The access has ended');
    expect(await rita.page.locator('#state').textContent()).toContain('Reason: given back');
    await rita.page.goto(api('access'));
    expect(await rita.page.locator('#held').textContent()).toContain('No active access');
  });

  it('expires on the open page', async () => {
    await rita.page.goto(api('role/reporting-readonly'));
    await rita.page.getByLabel('Reason').fill('Only for a moment');
    await rita.page.getByLabel('Duration').evaluate((select) => select.append(new Option('2 s', 'PT2S', true, true)));
    await rita.page.getByRole('button', { name: 'Request reporting-readonly' }).click();
    await state(rita.page, 'The request waits for approval');
    await mark(rita.page);
    await decide(adam.page, 'Approve', 'Quickly then');
    await state(rita.page, 'The access has ended');
    expect(await isSameDocument(rita.page)).toBe(true);
    expect(await rita.page.locator('#state').textContent()).toContain('Reason: expired');
  });

  it('is drawn again only where something changed', async () => {
    const path = await ask(rita.page, stage.url, 'The October figures look wrong');
    await state(rita.page, 'The request waits for approval');
    for (const [{ page }, address] of [
      [rita, path],
      [adam, path],
      [adam, '/inbox'],
    ] as const) {
      await page.goto(`${stage.url}${address}`);
      let looks = 0;
      page.on('response', (response) => {
        if (response.request().resourceType() === 'fetch') looks += 1;
      });
      // The second update begins after the page has shown the result of the first one.
      await page.evaluate(() => {
        for (let look = 0; look < 2; look += 1) document.dispatchEvent(new Event('visibilitychange'));
      });
      await expect.poll(() => looks, { timeout: 30_000 }).toBeGreaterThanOrEqual(2);
      expect([address, await page.locator('.changed').evaluateAll((parts) => parts.map(({ id }) => id))]).toEqual([
        address,
        [],
      ]);
    }
    await decide(adam.page, 'Deny', 'They are right');
  });

  it('is denied with a comment, and cancelled through a confirmation page', async () => {
    await ask(rita.page, stage.url, 'To be denied');
    await state(rita.page, 'The request waits for approval');
    await decide(adam.page, 'Deny', 'Not this week');
    await state(rita.page, 'The request was denied');
    await expect.poll(() => rita.page.locator('#found').textContent(), { timeout: 30_000 }).toContain('Not this week');

    await ask(rita.page, stage.url, 'To be cancelled');
    await rita.page.getByRole('link', { name: 'Cancel request' }).click();
    await rita.page.getByText('Nothing has happened yet').waitFor();
    await rita.page.getByRole('button', { name: 'Cancel this request' }).click();
    await state(rita.page, 'The request was cancelled');
  });

  it('works without scripts from request to return', async () => {
    const [requester, approver] = await Promise.all([
      stage.signIn('rita', { javaScriptEnabled: false }),
      stage.signIn('adam', { javaScriptEnabled: false }),
    ]);
    const path = await ask(requester.page, stage.url, 'Without a script');
    const until = async (page: Page, address: string, text: string) => {
      await expect
        .poll(
          async () => {
            await page.goto(address);
            return page.locator('main').textContent();
          },
          { timeout: 60_000, interval: 200 },
        )
        .toContain(text);
    };
    await until(approver.page, api('approvals'), 'Without a script');
    await decide(approver.page, 'Approve', '');
    await until(requester.page, `${stage.url}${path}`, 'The access is active');
    await requester.page.getByRole('button', { name: 'Give back' }).click();
    await until(requester.page, `${stage.url}${path}`, 'The access has ended');
    await requester.page.getByRole('button', { name: 'Sign out' }).click();
    await requester.page.getByText('You are signed out').waitFor();
    await requester.page.goto(api('home'));
    expect(requester.page.url()).toContain('/api/v1/auth?callback=');
    await Promise.all([requester.context.close(), approver.context.close()]);
  });

  it('is decided with the keyboard alone', async () => {
    await ask(rita.page, stage.url, 'By keyboard');
    await state(rita.page, 'The request waits for approval');
    const { page } = adam;
    await page.goto(api('approvals'));
    await page.getByRole('heading', { name: 'Rita Requester requests reporting-readonly' }).waitFor();
    const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim() ?? '');
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('Skip to content');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await page.keyboard.press('?');
    await page.keyboard.press('a');
    expect(await focused()).toBe('Approve and next');
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.type('Typed: a d j k');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/inbox(\?|$)/);
    await state(rita.page, 'The access is active');
    expect(await rita.page.locator('#found').textContent()).toContain('Typed: a d j k');
  });

  it('decides only the request under the cursor, also when another takes its place meanwhile', async () => {
    const paths = [await ask(rita.page, stage.url, 'The first'), await ask(rita.page, stage.url, 'The second')];
    const [first = '', second = ''] = paths.map((path) => path.split('/').at(-1) ?? '');
    const { page } = adam;
    await expect
      .poll(async () => {
        await page.goto(`${stage.url}/inbox`);
        return page.locator('#inbox .row').count();
      })
      .toBe(2);
    // With keys to the next request and back, and then to the approve button of the first one.
    await page.keyboard.press('j');
    await page.waitForURL((url) => url.searchParams.has('id'));
    await page.locator('#opened', { hasText: 'The second' }).waitFor();
    await page.keyboard.press('k');
    await page.locator('#opened', { hasText: 'The first' }).waitFor();
    await page.keyboard.press('a');
    // The request is decided in another page; this page updates itself.
    const aside = await adam.context.newPage();
    await aside.goto(api('home'));
    expect((await call(aside, `/api/v1/approvals/${first}/decision`, { verdict: 'deny' })).status).toBe(200);
    await page.locator('#opened', { hasText: 'does not wait for your decision any more' }).waitFor();
    await page.keyboard.press('Enter');
    await page.keyboard.press('a');
    await page.keyboard.press('Enter');
    expect((await call(aside, `/api/v1/execution/${second}`)).json).toMatchObject({ state: 'waiting_for_approval' });
    expect((await call(aside, `/api/v1/approvals/${second}/decision`, { verdict: 'deny' })).status).toBe(200);
    await aside.close();
  });
});

describe.runIf(here)('a page of another site', () => {
  it('changes nothing by links, images, prefetches or forms, though the person is signed in', async () => {
    const path = await ask(rita.page, stage.url, 'To be left alone');
    await state(rita.page, 'The request waits for approval');
    const documented = path.replace('/requests/', '/api/v1/execution/');
    const status = async () => (await call(rita.page, documented)).json.status;
    const cancel = `${stage.url}${path}/cancel`;
    await rita.context.route(`http://${elsewhere}/**`, (route) =>
      route.fulfill({
        contentType: 'text/html',
        body: `<!doctype html><title>Elsewhere</title><link rel="prefetch" href="${cancel}"><img src="${cancel}" alt="">
          <a href="${cancel}">Win</a><form method="post" action="${cancel}"><button>Win more</button></form>`,
      }),
    );
    const visitor = await rita.context.newPage();
    await visitor.goto(`http://${elsewhere}/`, { waitUntil: 'networkidle' });
    await visitor.getByRole('link', { name: 'Win' }).click();
    await visitor.getByText('Nothing has happened yet').waitFor();
    await visitor.goto(`http://${elsewhere}/`);
    await visitor.getByRole('button', { name: 'Win more' }).click();
    await visitor.waitForURL(cancel);
    expect(await visitor.locator('h1').textContent()).not.toMatch(/cancelled/i);

    // A prefetch of an address that acts is rejected even from our own page.
    await visitor.goto(api('home'));
    const refused = visitor.waitForResponse(cancel);
    await visitor.evaluate((href) => {
      document.head.append(Object.assign(document.createElement('link'), { rel: 'prefetch', href }));
    }, cancel);
    expect((await refused).status()).toBe(403);
    await visitor.close();
    expect(await status()).toBe('waiting');
  });
});

describe.runIf(here)('every page', () => {
  it('has nothing that axe finds: light, dark, and on a phone, where nothing is wider than the screen', async () => {
    // Every page has content: one request waits, and another one has active access.
    const waiting = await ask(rita.page, stage.url, 'For the pictures');
    await state(rita.page, 'The request waits for approval');
    const anybody = await stage.visit();
    const held = await rita.page.evaluate(async () => {
      const answer = await fetch('/api/v1/access', { headers: { accept: 'application/json' } });
      return ((await answer.json()) as { access: { execution_id: string }[] }).access[0]?.execution_id ?? '';
    });
    expect(held).not.toBe('');
    const over = await rita.page.evaluate(async () => {
      const answer = await fetch('/api/v1/executions?status=past', { headers: { accept: 'application/json' } });
      const { executions } = (await answer.json()) as { executions: { workflow_id: string }[] };
      return `/requests/${executions[0]?.workflow_id}`;
    });
    const tour: [Visitor, string][] = [
      [anybody, '/api/v1/auth'],
      [anybody, '/api/v1/reference'],
      [rita, '/api/v1/home'],
      [rita, '/api/v1/roles'],
      [rita, '/api/v1/role/reporting-readonly'],
      [rita, '/api/v1/elevate'],
      [rita, '/api/v1/elevate/llm'],
      [rita, '/api/v1/elevate?role=reporting-readonly&provider=demo-postgres&reason=From%20a%20link'],
      [rita, waiting],
      [rita, `/api/v1/execution/${held}`],
      [rita, '/api/v1/executions'],
      [rita, '/requests?status=past&limit=25'],
      [rita, over],
      [rita, '/api/v1/access'],
      [rita, '/api/v1/workflows'],
      [rita, '/api/v1/workflow/approve-and-grant'],
      [rita, '/api/v1/providers'],
      [rita, '/api/v1/provider/demo-postgres'],
      [rita, '/api/v1/logs'],
      [rita, `${waiting}/cancel`],
      [rita, '/api/v1/role/no-such-role'],
      [adam, '/api/v1/approvals'],
      [adam, waiting],
      [adam, '/requests?decided_by=me&limit=25'],
      [bea, '/api/v1/home'],
      [bea, '/api/v1/elevate/dynamic'],
    ];
    const faults: string[] = [];
    const look = async (visitor: Visitor, paths: string[]) => {
      const { page } = visitor;
      for (const path of paths) {
        await page.emulateMedia({ colorScheme: 'light' });
        await page.setViewportSize({ width: 1280, height: 800 });
        await page.goto(`${stage.url}${path}`);
        const name = path.split('/').at(3) ?? '';
        if (['auth', 'workflow', 'logs', 'reference'].includes(name)) await picture(page, name);
        if (path === '/api/v1/elevate') await picture(page, 'dynamic');
        const found = await findFaults(page);
        await page.emulateMedia({ colorScheme: 'dark' });
        found.push(...(await findFaults(page, 'colours')).map((fault) => `dark ${fault}`));
        if (path.endsWith(held)) await picture(page, 'dark');
        await page.emulateMedia({ colorScheme: 'light' });
        await page.setViewportSize({ width: 360, height: 740 });
        if (['home', 'approvals'].includes(name) && visitor !== bea) await picture(page, `phone-${name}`);
        if (path.endsWith(held)) {
          await page.emulateMedia({ colorScheme: 'dark' });
          await picture(page, 'phone-dark');
          await page.emulateMedia({ colorScheme: 'light' });
        }
        found.push(...(await findFaults(page)).map((fault) => `phone ${fault}`));
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        if (wide > 360) found.push(`is ${wide} wide on a phone`);
        faults.push(...found.map((fault) => `${path}: ${fault}`));
      }
    };
    const visitors = [...new Set(tour.map(([visitor]) => visitor))];
    await Promise.all(
      visitors.map((visitor) =>
        look(
          visitor,
          tour.flatMap(([who, path]) => (who === visitor ? [path] : [])),
        ),
      ),
    );
    expect(faults).toEqual([]);
  }, 240_000);

  /** Requests more than the bounds allow, and stays on the form that is shown again. */
  const askTooMuch = async (page: Page) => {
    await page.goto(api('elevate'));
    await page.getByLabel('Groups').fill('reporting_readonly, pg_read_all_data');
    await page.getByLabel('Reason').fill('One look at the figures');
    await page.getByLabel('Duration').fill('10m');
    const answered = page.waitForResponse((response) => response.request().method() === 'POST');
    await page.getByRole('button', { name: 'Request access' }).click();
    expect((await answered).status()).toBe(400);
    await page.getByRole('alert').waitFor();
  };

  it('has no axe findings on pages of suggestions, with and without a match', async () => {
    const { page } = rita;
    await page.setViewportSize({ width: 1280, height: 800 });
    const found: string[] = [];
    for (const [words, heading] of [
      ['read the revenue figures for half an hour', 'Suggested: reporting-readonly'],
      ['make me a sandwich', 'No matching role'],
    ] as const) {
      await page.goto(api('elevate/llm'));
      await page.getByLabel('What you need').fill(words);
      await page.getByRole('button', { name: 'Suggest a role' }).click();
      await page.getByRole('heading', { name: heading }).waitFor();
      if (heading !== 'No matching role') await picture(page, 'words');
      found.push(...(await findFaults(page)));
      await page.emulateMedia({ colorScheme: 'dark' });
      found.push(...(await findFaults(page, 'colours')));
      await page.emulateMedia({ colorScheme: 'light' });
    }
    expect(found).toEqual([]);
  });

  it('works without scripts: sign-in, reference, request, and a rejected form that keeps its input', async () => {
    const { page } = await stage.signIn('rita', { javaScriptEnabled: false });
    await page.goto(api('reference'));
    await page.getByRole('heading', { level: 1 }).waitFor();
    await askTooMuch(page);
    expect(await page.getByRole('alert').textContent()).toContain(
      '“pg_read_all_data” is not something that you may request',
    );
    expect(await page.getByLabel('Groups').inputValue()).toBe('reporting_readonly, pg_read_all_data');
    expect(await page.getByLabel('Groups').getAttribute('aria-invalid')).toBe('true');
    await page.getByLabel('Groups').fill('reporting_readonly');
    expect(await page.getByLabel('Reason').inputValue()).toBe('One look at the figures');
    await page.getByRole('button', { name: 'Request access' }).click();
    await page.waitForURL(/\/requests\//);
    expect(await page.locator('main').textContent()).toContain('One look at the figures');
  });

  it('has no axe findings on a rejected form', async () => {
    await rita.page.setViewportSize({ width: 1280, height: 800 });
    await askTooMuch(rita.page);
    await picture(rita.page, 'refused');
    const found = await findFaults(rita.page);
    await rita.page.emulateMedia({ colorScheme: 'dark' });
    found.push(...(await findFaults(rita.page, 'colours')));
    await rita.page.emulateMedia({ colorScheme: 'light' });
    expect(found).toEqual([]);
  });

  it('loads nothing from elsewhere and makes no browser complain', () => {
    expect(stage.complaints).toEqual([]);
  });
});
