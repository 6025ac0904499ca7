import { generateKeyPairSync, sign } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { oidcConnector, Retryable, Terminal } from '../../src/index.js';

const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const calm = () => new AbortController().signal;
const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

interface Told {
  status?: number;
  /** The subject of the ID token; without it, no ID token is returned. */
  subject?: string;
  answer?: Record<string, unknown>;
  /** The response of the userinfo endpoint; when absent, the issuer has no such endpoint. */
  userInfo?: Record<string, unknown>;
  /** Settings of the provider. */
  config?: Record<string, unknown>;
}

/** Starts an issuer whose token endpoint returns what the test specifies, and records the requests. */
async function openIssuer(told: Told) {
  const asked: URLSearchParams[] = [];
  const server = createServer((incoming, answer) => {
    const send = (body: unknown, status = 200) =>
      answer.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (incoming.url === '/.well-known/openid-configuration') {
      return send({
        issuer,
        authorization_endpoint: `${issuer}/auth`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        ...(told.userInfo === undefined ? {} : { userinfo_endpoint: `${issuer}/me` }),
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['ES256'],
      });
    }
    if (incoming.url === '/jwks') {
      return send({ keys: [{ ...keys.publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'ES256', use: 'sig' }] });
    }
    if (incoming.url === '/me') return send(told.userInfo);
    let body = '';
    incoming.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    return incoming.on('end', () => {
      asked.push(new URLSearchParams(body));
      if (told.status !== undefined) return send({ error: 'invalid_grant', error_description: 'the-old' }, told.status);
      const idToken = told.subject === undefined ? {} : { id_token: signed(told.subject) };
      return send({ access_token: 'the-next-access', token_type: 'Bearer', ...idToken, ...told.answer });
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  closing.push(() => {
    server.close();
    server.closeAllConnections();
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const signed = (sub: string, claims: object = {}) => {
    const now = Math.floor(Date.now() / 1000);
    const parts = [
      { alg: 'ES256', kid: 'k' },
      { iss: issuer, aud: 'belay', sub, iat: now, exp: now + 300, ...claims },
    ].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
    const text = parts.join('.');
    const signature = sign('sha256', Buffer.from(text), { key: keys.privateKey, dsaEncoding: 'ieee-p1363' });
    return `${text}.${signature.toString('base64url')}`;
  };
  const config = {
    issuer,
    client_id: 'belay',
    client_secret: 'the-secret',
    allow_insecure_issuer: true,
    ...told.config,
  };
  const tools = { now: Date.now, log: () => {} };
  const { authenticator } = await oidcConnector.create(oidcConnector.config.parse(config), tools);
  const refresh = () => authenticator?.refresh?.({ refreshToken: 'the-old', subject: 's' }, calm());
  /** Calls `reread` with the access token of a sign-in whose ID token had these claims. */
  const reread = (claims: object) =>
    authenticator?.reread?.(
      { tokens: { accessToken: 'the-access', idToken: signed('s', claims) }, subject: 's' },
      calm(),
    );
  return { asked, refresh, reread };
}

describe('refreshing a session at an OpenID provider', () => {
  it('exchanges the refresh token for new tokens, with a new refresh token or without', async () => {
    const { asked, refresh } = await openIssuer({
      answer: { refresh_token: 'the-next', expires_in: 60 },
      subject: 's',
    });
    expect(await refresh()).toEqual({
      tokens: {
        accessToken: 'the-next-access',
        refreshToken: 'the-next',
        // On a busy machine whole seconds can pass meanwhile.
        expiresInMilliseconds: expect.closeTo(58_000, -4),
        idToken: expect.any(String),
      },
    });
    expect(Object.fromEntries(asked[0] ?? [])).toMatchObject({ grant_type: 'refresh_token', refresh_token: 'the-old' });
    const plain = await openIssuer({});
    expect(await plain.refresh()).toEqual({ tokens: { accessToken: 'the-next-access' } });
  });

  it('rejects a response about another person', async () => {
    const { refresh } = await openIssuer({ subject: 'another' });
    await expect(refresh()).rejects.toBeInstanceOf(Terminal);
  });

  it('distinguishes a rejection from a provider that may respond later, and repeats the text of neither', async () => {
    for (const [status, kind] of [
      [400, Terminal],
      [401, Terminal],
      [503, Retryable],
      [429, Retryable],
    ] as const) {
      const { refresh } = await openIssuer({ status });
      const error: unknown = await refresh()?.catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(kind);
      expect(String(error)).not.toMatch(/the-(old|secret)/);
    }
  });
});

describe('reading a person again', () => {
  const ana = { sub: 's', email: 'ana@example.test', email_verified: true, name: 'Ana' };
  const config = { organizations_claim: 'hd' };

  it('returns the organizations as they are now', async () => {
    const { reread } = await openIssuer({ userInfo: { ...ana, hd: 'example.test' }, config });
    for (const before of [{ ...ana, hd: 'example.test' }, { ...ana, hd: 'before.example' }, ana])
      expect(await reread(before)).toMatchObject({ organizations: ['example.test'], groups: [] });
  });

  it('returns nothing when the issuer sends no organizations any more, which means neither none nor those of before', async () => {
    const { reread } = await openIssuer({ userInfo: ana, config });
    expect(await reread({ ...ana, hd: 'example.test' })).toBeNull();
    expect(await reread(ana)).toMatchObject({ organizations: [] });
  });

  it('does not end the sign-in when the issuer returns groups in another form, which is not about the person', async () => {
    const { reread } = await openIssuer({ userInfo: { ...ana, groups: [{ name: 'a' }] } });
    await expect(reread(ana)).rejects.toBeInstanceOf(Retryable);
  });

  it('verifies an address by a listed domain as at the sign-in', async () => {
    const { email_verified: _, ...silent } = ana;
    const { reread } = await openIssuer({ userInfo: silent, config: { email_domains: ['example.test'] } });
    expect(await reread(silent)).toMatchObject({ emailVerified: true });
    const elsewhere = await openIssuer({ userInfo: silent, config: { email_domains: ['example.org'] } });
    expect(await elsewhere.reread(silent)).toMatchObject({ emailVerified: false });
  });
});
