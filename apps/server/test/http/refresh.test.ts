import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { applyCatalog, expireLogins, type LiveCatalog } from '@belay/core';
import { createRegistry, oidcConnector } from '@belay/providers';
import { createMemoryConnector } from '@belay/providers/testkit';
import { Provider } from 'oidc-provider/lib/provider.js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openBrowser } from '../demo-identity-provider/browser.js';
import { openVisitor } from './support/visitor.js';
import { createWorld, type World } from './support/world.js';

/** An OpenID provider that is not ours, with refresh tokens that it rotates, and that signs everybody in as Rita. */
async function openRotating(redirect: string) {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = { client_id: 'belay', client_secret: randomBytes(24).toString('hex') };
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const provider = new Provider(issuer, {
    clients: [
      {
        ...client,
        redirect_uris: [redirect],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        id_token_signed_response_alg: 'ES256',
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kty: 'EC', alg: 'ES256', use: 'sig', kid: 'one' }] },
    cookies: { keys: [randomBytes(24).toString('hex')] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_ctx, interaction) => `/sign-in/${interaction.uid}` },
    ttl: { AccessToken: 60, RefreshToken: 3600, Grant: 3600, IdToken: 60, Interaction: 60, Session: 3600 },
    issueRefreshToken: async () => true,
    rotateRefreshToken: true,
    expiresWithSession: () => false,
    findAccount: async (_ctx, accountId) => ({
      accountId,
      claims: async () => ({ sub: accountId, email: 'rita@example.test', email_verified: true }),
    }),
    async loadExistingGrant(ctx) {
      const { client: asking, session } = ctx.oidc;
      if (!asking || !session?.accountId) return undefined;
      const grant = new ctx.oidc.provider.Grant({ accountId: session.accountId, clientId: asking.clientId });
      grant.addOIDCScope('openid profile email');
      await grant.save();
      return grant;
    },
  });
  const seen = { refreshed: 0, refused: 0 };
  provider.on('grant.success', (ctx) => {
    if (ctx.oidc.params?.grant_type === 'refresh_token') seen.refreshed += 1;
  });
  provider.on('grant.error', () => {
    seen.refused += 1;
  });
  let revoked = false;
  const answer = provider.callback();
  server.on('request', (request, response) => {
    if (revoked && request.url === '/token') {
      seen.refused += 1;
      response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}');
      return;
    }
    if (!request.url?.startsWith('/sign-in/')) {
      answer(request, response);
      return;
    }
    void provider.interactionFinished(request, response, { login: { accountId: 'rotating-rita' } });
  });
  return {
    seen,
    config: { ...client, issuer, allow_insecure_issuer: true },
    revoke: () => {
      revoked = true;
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

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

/** Moves the database's clock to so long after now. */
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
  expect(await session()).toMatchObject({ version: 4 });
  await setClock(190);
  await expireLogins(world.context);
  expect(await session()).toBeUndefined();
  expect(rotating.seen.refused).toBe(1);
  // The login is another thing: it ends by its own rules.
  expect((await browser.visit('/auth/whoami')).status).toBe(200);
});
