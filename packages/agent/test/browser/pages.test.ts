/// <reference lib="dom" />
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createWorld, type World } from '@belay/testkit/world';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hasChromium, launchChromium } from '../../../server/test/browser/support/chromium.js';
import { type Local, makeCredential, startLocal } from '../support/local.js';

describe.runIf(hasChromium())('in a browser, an agent', () => {
  let world: World;
  let local: Local;
  let browser: Browser;
  beforeAll(async () => {
    world = await createWorld();
    local = await startLocal(world, { mode: 'agent', credential: await makeCredential(world, 'browser') });
    // All of these names resolve to this machine, as with DNS rebinding.
    browser = await launchChromium(['--host-resolver-rules=MAP *.evil.test 127.0.0.1']);
  });
  afterAll(async () => {
    await browser?.close();
    await local?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  it('signs a person in from its own address, who comes back to it', async () => {
    const page = await browser.newPage();
    await page.goto(`${local.url}/auth`);
    await page.getByRole('link', { name: /demo/i }).first().click();
    await page.getByRole('button', { name: /Rita/ }).click();
    await page.getByRole('button', { name: 'Sign in program' }).click();
    await page.waitForURL(`${local.url}/**`);
    await page.getByRole('heading', { name: 'You are signed in' }).waitFor();
    expect(Object.keys((await local.call('GET', '/sessions')).json.sessions as object)).toEqual(['demo']);
    await page.goto(`${local.url}/roles`);
    expect(await page.getByRole('cell', { name: 'reader' }).count()).toBe(1);
    await page.close();
  });

  describe('against hostile pages', () => {
    let site: Server;
    let pages: { name: string; page: Page }[];
    /** Returns the session that the attacks try to get or change. */
    const session = async () => JSON.stringify((await local.call('GET', '/session/demo')).json);
    const secret = async () => (JSON.parse(await session()) as { session: { session: string } }).session.session;
    beforeAll(async () => {
      site = createServer((_request, response) => {
        response.writeHead(200, { 'content-type': 'text/html' });
        response.end('<!doctype html><title>A nice page</title><div id="place"></div>');
      });
      await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
      const own = (site.address() as AddressInfo).port;
      const open = async (name: string) => {
        const page = await (await browser.newContext()).newPage();
        await page.goto(`http://${name}:${own}/`);
        return { name, page };
      };
      pages = [await open('www.evil.test'), await open('127.0.0.1'), await open('localhost')];
    });
    afterAll(async () => {
      await new Promise((resolve) => site?.close(resolve));
    });
    beforeEach(async () => {
      if ((await local.call('GET', '/session/demo')).status !== 200) await local.signIn('requester');
    });

    const everywhere = async (attack: (page: Page) => Promise<unknown>, outcome: unknown) => {
      const before = await session();
      for (const { name, page } of pages) expect([name, await attack(page)]).toEqual([name, outcome]);
      expect(await session()).toBe(before);
    };
    /** Returns what a page's script can read of a response, or that it cannot. */
    const fetches = (path: string, init: RequestInit) => (page: Page) =>
      page.evaluate(
        async ([address, options]) => {
          try {
            const answer = await fetch(address as string, options as RequestInit);
            return answer.type === 'opaque' ? 'opaque' : `read: ${await answer.text()}`;
          } catch {
            return 'refused';
          }
        },
        [`${local.url}${path}`, init] as const,
      );
    const json = { 'content-type': 'application/json' };
    const planted = JSON.stringify({ code: 'x', provider: 'demo', session: 'x' });

    it('fetch with CORS reads nothing', () => everywhere(fetches('/sessions', {}), 'refused'));
    it('fetch without CORS reads nothing', async () => {
      for (const { page } of pages) {
        expect(['refused', 'opaque']).toContain(await fetches('/sessions', { mode: 'no-cors' })(page));
      }
    });
    it('a simple POST plants nothing', async () => {
      const attack = fetches('/sessions', {
        method: 'POST',
        mode: 'no-cors',
        headers: { 'content-type': 'text/plain' },
        body: planted,
      });
      const before = await session();
      for (const { page } of pages) expect(['refused', 'opaque']).toContain(await attack(page));
      expect(await session()).toBe(before);
    });
    it('a POST of JSON does not get past its preflight', () =>
      everywhere(fetches('/sessions', { method: 'POST', headers: json, body: planted }), 'refused'));
    it('a DELETE does not get past its preflight', () =>
      everywhere(fetches('/session/demo', { method: 'DELETE' }), 'refused'));
    it('the SDK’s door is as shut', () => everywhere(fetches('/trpc/sessions.list', {}), 'refused'));
    it('a script element runs nothing and an image shows nothing', () =>
      everywhere(
        (page) =>
          page.evaluate(async (url) => {
            const load = (tag: 'script' | 'img', path: string) =>
              new Promise<string>((resolve) => {
                const element = document.createElement(tag);
                element.onload = () => resolve('loaded');
                element.onerror = () => resolve('refused');
                element.src = `${url}${path}`;
                document.body.append(element);
              });
            return [await load('script', '/sessions'), await load('img', '/auth?provider=demo')];
          }, local.url),
        ['refused', 'refused'],
      ));
    it('a frame shows nothing of it', () =>
      everywhere(
        (page) =>
          page.evaluate(
            (url) =>
              new Promise<string>((resolve) => {
                const frame = document.createElement('iframe');
                frame.onload = () => {
                  try {
                    resolve(frame.contentDocument?.body.textContent ? 'read' : 'refused');
                  } catch {
                    resolve('refused');
                  }
                };
                frame.src = `${url}/sessions`;
                document.body.append(frame);
              }),
            local.url,
          ),
        'refused',
      ));
    it('a WebSocket and an event stream do not open', () =>
      everywhere(
        (page) =>
          page.evaluate(
            (url) =>
              Promise.all([
                new Promise<string>((resolve) => {
                  const socket = new WebSocket(url.replace('http', 'ws'));
                  socket.onopen = () => resolve('open');
                  socket.onerror = () => resolve('refused');
                }),
                new Promise<string>((resolve) => {
                  const stream = new EventSource(`${url}/trpc/sessions.list`);
                  stream.onopen = () => resolve('open');
                  stream.onerror = () => resolve('refused');
                }),
              ]),
            local.url,
          ),
        ['refused', 'refused'],
      ));
    it('a window that it opens begins no sign-in and tells it nothing', async () => {
      for (const { name, page } of pages) {
        const opened = page.waitForEvent('popup');
        await page.evaluate((url) => {
          window.open(`${url}/auth?provider=demo`);
        }, local.url);
        const popup = await opened;
        await popup.waitForLoadState();
        expect([name, await popup.evaluate(() => document.body.textContent)]).toEqual([
          name,
          expect.stringContaining('Cross-origin'),
        ]);
        expect(new URL(popup.url()).origin).toBe(local.url);
        await popup.close();
      }
    });
    it('a form that it posts is rejected', async () => {
      const before = await session();
      for (const { name, page } of pages) {
        const context = await browser.newContext();
        const victim = await context.newPage();
        await victim.goto(page.url());
        await victim.evaluate((url) => {
          const form = document.createElement('form');
          Object.assign(form, { method: 'post', action: `${url}/sessions`, enctype: 'text/plain' });
          form.innerHTML = `<input name='{"code":"x","provider":"demo","session":"' value='x"}'>`;
          document.body.append(form);
          form.submit();
        }, local.url);
        await victim.waitForURL(`${local.url}/sessions`);
        expect([name, await victim.evaluate(() => document.body.textContent)]).toEqual([
          name,
          expect.stringContaining('Cross-origin'),
        ]);
        await context.close();
      }
      expect(await session()).toBe(before);
    });
    it('a name that leads here is not ours (DNS rebinding)', async () => {
      const page = await (await browser.newContext()).newPage();
      const answer = await page.goto(`http://rebound.evil.test:${new URL(local.url).port}/sessions`);
      expect(answer?.status()).toBe(403);
      const read = await page.evaluate(() =>
        fetch('/sessions').then(
          async (reply) => `${reply.status} ${await reply.text()}`,
          () => 'refused',
        ),
      );
      expect(read).not.toContain(await secret());
      expect(read).toMatch(/^(403|refused)/);
    });
  });
});
