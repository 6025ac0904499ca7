import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider } from 'oidc-provider/lib/provider.js';
import { client } from './recipes.js';

export interface AuthentikPerson {
  email: string;
  groups: string[];
  /** What the scope mapping `email` returns; false by default, unless the mapping was replaced. */
  email_verified?: boolean;
  active?: boolean;
}

/** The path of an application's issuer: it ends with a slash. */
const path = '/application/o/belay/';

/**
 * Starts a provider that behaves as Authentik documents, but is not Authentik: each application has an issuer whose address ends with a
 * slash, groups are in the scope `profile`, claims are also in the ID token, and the scope `offline_access` gives refresh tokens without
 * a consent.
 */
export async function startAuthentik(callback: string) {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  /** People by username, which a mode of the provider uses as the subject. */
  const people = new Map<string, AuthentikPerson>();
  /** The scopes that were requested, by code challenge: `oidc-provider` drops `offline_access` without a consent. */
  const requested = new Map<string, string[]>();
  let next = '';
  const provider = new Provider(issuer, {
    clients: [
      {
        ...client,
        redirect_uris: [callback],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kty: 'RSA', alg: 'RS256', use: 'sig', kid: 'one' }] },
    cookies: { keys: [randomBytes(24).toString('hex')] },
    scopes: ['openid', 'profile', 'email', 'offline_access'],
    claims: {
      openid: ['sub'],
      email: ['email', 'email_verified'],
      profile: ['name', 'given_name', 'preferred_username', 'nickname', 'groups'],
    },
    conformIdTokenClaims: false,
    pkce: { required: () => false },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_ctx, interaction) => `${path}sign-in/${interaction.uid}` },
    ttl: { AccessToken: 3600, Grant: 86_400, IdToken: 3600, Interaction: 60, RefreshToken: 86_400, Session: 86_400 },
    issueRefreshToken: async (_ctx, _client, code) =>
      requested.get('codeChallenge' in code ? String(code.codeChallenge) : '')?.includes('offline_access') === true,
    rotateRefreshToken: true,
    expiresWithSession: () => false,
    async findAccount(_ctx, accountId) {
      const { email, groups, email_verified = false, active = true } = people.get(accountId) ?? { active: false };
      if (!active || email === undefined) return undefined;
      const names = { name: accountId, given_name: accountId, preferred_username: accountId, nickname: accountId };
      return { accountId, claims: async () => ({ sub: accountId, email, email_verified, ...names, groups }) };
    },
    async loadExistingGrant(ctx) {
      const { client: asking, session } = ctx.oidc;
      if (!asking || !session?.accountId) return undefined;
      const grant = new ctx.oidc.provider.Grant({ accountId: session.accountId, clientId: asking.clientId });
      grant.addOIDCScope('openid profile email offline_access');
      await grant.save();
      return grant;
    },
  });
  const answer = provider.callback();
  server.on('request', (request, response) => {
    const url = new URL(request.url ?? '', issuer);
    const challenge = url.searchParams.get('code_challenge');
    if (challenge) requested.set(challenge, (url.searchParams.get('scope') ?? '').split(' '));
    if (!url.pathname.startsWith(path)) return void response.writeHead(404).end();
    // `oidc-provider` expects these properties when it is mounted at a path.
    Object.assign(request, { originalUrl: request.url, url: `/${(request.url ?? '').slice(path.length)}` });
    if (!request.url?.startsWith('/sign-in/')) return answer(request, response);
    return void provider.interactionFinished(request, response, { login: { accountId: next } });
  });
  return {
    issuer,
    people,
    /** Sets the person who signs in next. */
    expect(username: string): void {
      next = username;
    },
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
