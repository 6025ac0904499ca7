import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider } from 'oidc-provider/lib/provider.js';

/**
 * Starts an independent provider that rotates refresh tokens, requires PKCE, and treats every visitor as Rita, signed in.
 */
export async function openRotating(redirect: string) {
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
    issuer,
    client,
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
