import { applyCatalog, expireLogins, type LiveCatalog } from '@belay/core';
import { createRegistry, oidcConnector } from '@belay/providers';
import { createMemoryConnector } from '@belay/providers/testkit';
import { openBrowser } from '@belay/testkit/browser';
import { openVisitor } from '@belay/testkit/visitor';
import { createWorld, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openRotating } from './support/rotating.js';

let world: World;
let rotating: Awaited<ReturnType<typeof openRotating>>;
beforeAll(async () => {
  world = await createWorld();
  rotating = await openRotating(`${world.url}/api/v1/auth/callback/rotating`);
  const catalog = world.context.catalog as LiveCatalog;
  const { document } = catalog.current();
  const providers = { ...document.providers, rotating: { provider: 'oidc', config: rotating.config } };
  const connectors = createRegistry([oidcConnector, createMemoryConnector(world.store)]);
  const options = { connectors, resolve: () => undefined };
  await applyCatalog(world.context.db, { document: { ...document, providers }, source: 'test' }, options);
  await catalog.refresh();
});
afterAll(async () => {
  await rotating.close();
  await world[Symbol.asyncDispose]();
});

/** Sets the clock of the database to so many seconds after now. */
async function setClock(seconds: number): Promise<void> {
  await world.context.db.execute('delete from test_clock');
  await world.context.db.execute(`insert into test_clock (at) values (now() + interval '${seconds} seconds')`);
}

it('a session goes on at a provider that rotates refresh tokens, whichever of several workers comes first', async () => {
  const browser = openVisitor(world.url);
  const begun = await browser.visit('/auth/request/rotating');
  const back = await openBrowser().open(begun.location);
  expect((await browser.visit(back.url.href, { site: 'cross-site' })).status).toBe(200);
  const session = async () =>
    ((await browser.visit('/sessions')).json.sessions as Record<string, { version: number; expiry: string }>).rotating;
  const first = await session();
  expect(first?.version).toBe(1);
  for (const [seconds, version] of [
    [40, 2],
    [80, 3],
    [120, 4],
  ] as const) {
    await setClock(seconds);
    await Promise.all(Array.from({ length: 5 }, () => expireLogins(world.context)));
    const next = await session();
    expect([next?.version, rotating.seen]).toEqual([version, { refreshed: version - 1, refused: 0 }]);
    expect(Date.parse(next?.expiry ?? '')).toBeGreaterThan(Date.parse(first?.expiry ?? ''));
  }
  rotating.revoke();
  await setClock(160);
  await expireLogins(world.context);
  expect(rotating.seen.refused).toBe(1);
  // When the provider rejects the refresh token, the login here has ended too.
  expect((await browser.visit('/auth/whoami')).status).toBe(401);
  await setClock(190);
  await expireLogins(world.context);
  expect(rotating.seen.refused).toBe(1);
});
