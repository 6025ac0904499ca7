import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { applyCatalog, type LiveCatalog } from '@belay/core';
import { createRegistry, oidcConnector } from '@belay/providers';
import { createMemoryConnector } from '@belay/providers/testkit';
import { openBrowser } from '@belay/testkit/browser';
import type { openVisitor } from '@belay/testkit/visitor';
import type { World } from '@belay/testkit/world';
import { SignJWT } from 'jose';
import { Provider } from 'oidc-provider/lib/provider.js';

type Visitor = ReturnType<typeof openVisitor>;

/**
 * Starts a company's identity provider, `company`, which is independent of Belay: it ends sign-ins, changes groups and sends
 * logout tokens.
 */
export async function openCompany(world: World) {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = { client_id: 'belay', client_secret: randomBytes(24).toString('hex') };
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  /** The current groups by subject. */
  const groups = new Map<string, string[]>();
  let next = '';
  const provider = new Provider(issuer, {
    clients: [
      {
        ...client,
        redirect_uris: [`${world.url}/api/v1/auth/callback/company`],
        grant_types: ['authorization_code'],
        response_types: ['code'],
        id_token_signed_response_alg: 'ES256',
        backchannel_logout_uri: `${world.url}/api/v1/auth/backchannel-logout/company`,
        backchannel_logout_session_required: true,
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kty: 'EC', alg: 'ES256', use: 'sig', kid: 'one' }] },
    cookies: { keys: [randomBytes(24).toString('hex')] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
    scopes: ['openid', 'email', 'groups'],
    conformIdTokenClaims: true,
    pkce: { required: () => true },
    // By default the provider does not call loopback addresses, but Belay has one here.
    fetch: (url, options) => fetch(url, { ...options, dispatcher: undefined } as RequestInit),
    features: { devInteractions: { enabled: false }, backchannelLogout: { enabled: true } },
    interactions: { url: (_ctx, interaction) => `/sign-in/${interaction.uid}` },
    ttl: { AccessToken: 7200, Grant: 7200, IdToken: 60, Interaction: 60, Session: 7200 },
    findAccount: async (_ctx, accountId) => ({
      accountId,
      claims: async () => ({
        sub: accountId,
        email: `${accountId}@company.example`,
        email_verified: true,
        groups: groups.get(accountId) ?? [],
      }),
    }),
    async loadExistingGrant(ctx) {
      const { client: asking, session } = ctx.oidc;
      if (!asking || !session?.accountId) return undefined;
      const grant = new ctx.oidc.provider.Grant({ accountId: session.accountId, clientId: asking.clientId });
      grant.addOIDCScope('openid email groups');
      await grant.save();
      return grant;
    },
  });
  const answer = provider.callback();
  server.on('request', (request, response) => {
    if (!request.url?.startsWith('/sign-in/')) return answer(request, response);
    return void provider.interactionFinished(request, response, { login: { accountId: next } });
  });
  const catalog = world.context.catalog as LiveCatalog;
  const { document } = catalog.current();
  const config = { ...client, issuer, allow_insecure_issuer: true, scopes: ['openid', 'email', 'groups'] };
  const providers = { ...document.providers, company: { provider: 'oidc', groups: 'all', config } };
  const connectors = createRegistry([oidcConnector, createMemoryConnector(world.store)]);
  const options = { connectors, resolve: () => undefined };
  await applyCatalog(world.context.db, { document: { ...document, providers }, source: 'test' }, options);
  await catalog.refresh();

  return {
    issuer,
    groups,
    client,
    /** Signs a browser in as `subject`; `at` is the browser at the provider, which stays signed in there. */
    async signIn(visitor: Visitor, subject: string, at = openBrowser(), query = '') {
      next = subject;
      const begun = await visitor.visit(`/auth/request/company${query}`);
      const back = await at.open(begun.location);
      return visitor.visit(back.url.href, { site: 'cross-site' });
    },
    /** Lets the provider itself send a logout token. */
    async logOut(subject: string, sid: string): Promise<void> {
      const found = (await provider.Client.find(client.client_id)) as
        | { backchannelLogout(subject: string, sid: string): Promise<void> }
        | undefined;
      await found?.backchannelLogout(subject, sid);
    },
    /** Creates a logout token as the provider does, or with an attacker's changes. */
    token(claims: Record<string, unknown>, header: Record<string, unknown> = {}, key: object = privateKey) {
      const now = Math.floor(Date.now() / 1000);
      const usual = {
        iss: issuer,
        aud: client.client_id,
        iat: now,
        exp: now + 120,
        jti: randomBytes(16).toString('hex'),
        events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
      };
      return new SignJWT({ ...usual, ...claims })
        .setProtectedHeader({ alg: 'ES256', kid: 'one', typ: 'logout+jwt', ...header })
        .sign(key as typeof privateKey);
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
