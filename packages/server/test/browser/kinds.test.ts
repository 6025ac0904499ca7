import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openKinds } from '../http/support/kinds.js';
import { findFaults } from './support/axe.js';
import { hasChromium, launchChromium } from './support/chromium.js';
import { picture } from './support/pictures.js';

const here = hasChromium();
let kinds: Awaited<ReturnType<typeof openKinds>>;
let browser: Browser;
let identityProvider: Server;

/** The identity provider is at another host than Belay, so it is another site for the browser. */
beforeAll(async () => {
  if (!here) return;
  identityProvider = createServer((request, response) => {
    const { port } = identityProvider.address() as AddressInfo;
    kinds.assert(`http://localhost:${port}${request.url ?? ''}`).then(
      ({ SAMLResponse, RelayState }) =>
        response.writeHead(200, { 'content-type': 'text/html' }).end(
          `<form method="post" action="${kinds.world.url}/api/v1/auth/callback/corp">
             <input type="hidden" name="SAMLResponse" value="${SAMLResponse}">
             <input type="hidden" name="RelayState" value="${RelayState}">
             <button>Go on as Rita</button></form>`,
        ),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => identityProvider.listen(0, 'localhost', resolve));
  const { port } = identityProvider.address() as AddressInfo;
  kinds = await openKinds({ entryPoint: `http://localhost:${port}/sso` });
  browser = await launchChromium();
});
afterAll(async () => {
  if (!here) return;
  await browser?.close();
  identityProvider.close();
  identityProvider.closeAllConnections();
  await kinds?.close();
});

describe.runIf(here)('a sign-in by SAML in a browser', () => {
  it('is posted without our cookies and fetched with them, beside the session with another provider', async () => {
    const page = await (await browser.newContext()).newPage();
    page.setDefaultTimeout(30_000);
    const { url } = kinds.world;
    await page.goto(`${url}/api/v1/home`);
    await page.getByRole('link', { name: /Demo/ }).click();
    await page.getByRole('button', { name: /Rita/ }).click();
    await page.waitForURL(`${url}/**`);

    const seen: { method: string; cookies: string }[] = [];
    await page.goto(`${url}/api/v1/auth`);
    await page.getByRole('link', { name: /Corporate/ }).click();
    await page.waitForURL(/localhost/);
    const asked: Promise<void>[] = [];
    page.on('request', (request) => {
      if (!request.url().includes('/auth/callback/corp')) return;
      asked.push(
        request.allHeaders().then(({ cookie = '' }) => {
          seen.push({ method: request.method(), cookies: cookie.replaceAll(/=[^;]*/g, '') });
        }),
      );
    });
    await page.getByRole('button', { name: 'Go on as Rita' }).click();
    await page.waitForURL(`${url}/**`);
    await Promise.all(asked);
    expect(seen.sort((a, b) => (a.method < b.method ? -1 : 1))).toEqual([
      { method: 'GET', cookies: expect.stringMatching(/belay-flow/) },
      { method: 'POST', cookies: '' },
    ]);
    await page.goto(`${url}/api/v1/sessions`);
    const { sessions } = JSON.parse((await page.locator('body').textContent()) ?? '{}') as { sessions: object };
    expect(Object.keys(sessions)).toEqual(['corp', 'demo']);

    await page.goto(`${url}/api/v1/auth`);
    await picture(page, 'auth-several');
    expect(await findFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'Sign out of Corporate' }).click();
    await page.getByText('still signed in with other providers').waitFor();
    expect(await findFaults(page)).toEqual([]);
    await page.getByRole('link', { name: 'Home', exact: true }).first().click();
    await page.getByRole('heading', { name: /^Hello/ }).waitFor();
    await page.goto(`${url}/api/v1/auth`);
    expect(await page.getByRole('button', { name: /^Sign out of/ }).count()).toBe(0);
  });
});
