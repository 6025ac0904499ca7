import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { oidcConnector, Retryable, Terminal } from '../../src/index.js';

const redirectUri = 'http://127.0.0.1:8080/callback';
const request = { redirectUri, state: 'the-state', nonce: 'the-nonce', codeVerifier: 'v'.repeat(43) };
const calm = () => new AbortController().signal;
const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const soon = () => Math.floor(Date.now() / 1000) + 300;

interface Told {
  claims?: Record<string, unknown>;
  header?: Record<string, unknown>;
  key?: KeyObject;
  userInfo?: Record<string, unknown>;
  discovery?: Record<string, unknown>;
  tokenAnswer?: { status: number; type?: string; body: string };
}

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** Starts an issuer that returns what the test specifies. */
async function openIssuer(told: Told) {
  const asked: string[] = [];
  const server = createServer((incoming, answer) => {
    const send = (body: unknown, status = 200, type = 'application/json') =>
      answer.writeHead(status, { 'content-type': type }).end(typeof body === 'string' ? body : JSON.stringify(body));
    asked.push(incoming.url ?? '');
    if (incoming.url === '/.well-known/openid-configuration') {
      return send({
        issuer,
        authorization_endpoint: `${issuer}/auth`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        userinfo_endpoint: `${issuer}/me`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['ES256'],
        ...told.discovery,
      });
    }
    if (incoming.url === '/jwks') {
      return send({ keys: [{ ...keys.publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'ES256', use: 'sig' }] });
    }
    if (incoming.url === '/me')
      return send({ sub: 's', email: 'ana@example.test', email_verified: true, ...told.userInfo });
    if (told.tokenAnswer) return send(told.tokenAnswer.body, told.tokenAnswer.status, told.tokenAnswer.type);
    const parts = [
      { alg: 'ES256', kid: 'k', ...told.header },
      { iss: issuer, aud: 'belay', sub: 's', iat: soon() - 300, exp: soon(), nonce: request.nonce, ...told.claims },
    ].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
    const signed = parts.join('.');
    const signature = sign('sha256', Buffer.from(signed), {
      key: told.key ?? keys.privateKey,
      dsaEncoding: 'ieee-p1363',
    });
    return send({
      access_token: 'the-access-token',
      token_type: 'Bearer',
      id_token: `${signed}.${signature.toString('base64url')}`,
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  closing.push(() => {
    server.close();
    server.closeAllConnections();
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = await oidcConnector.create(
    oidcConnector.config.parse({
      issuer,
      client_id: 'belay',
      client_secret: 'the-secret',
      allow_insecure_issuer: true,
    }),
    { now: Date.now, log: () => {} },
  );
  const exchange = () =>
    client.authenticator?.exchange(new URL(`${redirectUri}?code=the-code&state=the-state`), request, calm());
  return { asked, client, exchange };
}

describe('the oidc connector accepts', () => {
  it('an ID token that is signed, for us, in time and about the same person as the userinfo', async () => {
    const { exchange, asked } = await openIssuer({});
    expect(await exchange()).toMatchObject({
      subject: 's',
      email: 'ana@example.test',
      emailVerified: true,
      groups: [],
    });
    await exchange();
    expect(asked.filter((path) => path === '/.well-known/openid-configuration').length).toBe(1);
    expect(asked.filter((path) => path === '/jwks').length).toBe(1);
  });

  it.each<[string, Told]>([
    ['signed by another key', { key: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey }],
    ['not signed', { header: { alg: 'none' } }],
    ['signed in a way that the issuer does not announce', { header: { alg: 'HS256' } }],
    ['for another client', { claims: { aud: 'other' } }],
    ['for several clients and issued to another', { claims: { aud: ['belay', 'other'], azp: 'other' } }],
    ['from another issuer', { claims: { iss: 'https://evil.test' } }],
    ['too old', { claims: { exp: soon() - 1000 } }],
    ['without the nonce', { claims: { nonce: undefined } }],
    ['about another person than the userinfo', { userInfo: { sub: 'other' } }],
    ['missing', { tokenAnswer: { status: 200, body: '{"access_token":"the-access-token","token_type":"Bearer"}' } }],
  ])('no ID token that is %s', async (_what, told) => {
    const { exchange } = await openIssuer(told);
    const error = await exchange()?.catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(Terminal);
    expect((error as Error).message).not.toMatch(/the-(secret|code|access-token|state|nonce)/);
  });

  it('no metadata of another issuer', async () => {
    const { client } = await openIssuer({ discovery: { issuer: 'https://evil.test' } });
    await expect(client.check(calm())).rejects.toBeInstanceOf(Terminal);
  });
});

describe('the oidc connector reports', () => {
  it.each([429, 500, 502, 503])('that an issuer which responds with %d is retryable', async (status) => {
    for (const tokenAnswer of [
      { status, body: '{"error":"temporarily_unavailable"}' },
      { status, type: 'text/html', body: '<h1>the-secret</h1>' },
    ]) {
      const { exchange } = await openIssuer({ tokenAnswer });
      const error = await exchange()?.catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(Retryable);
      expect((error as Error).message).not.toContain('the-secret');
    }
  });

  it('that an issuer which rejects is final, without repeating its text', async () => {
    const body = '{"error":"invalid_grant","error_description":"the-secret"}';
    const { exchange } = await openIssuer({ tokenAnswer: { status: 400, body } });
    const error = await exchange()?.catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(Terminal);
    expect((error as Error).message).toBe('The identity provider rejected the sign-in (invalid_grant)');
  });

  it('whether the issuer is reachable', async () => {
    const { client } = await openIssuer({});
    await client.check(calm());
    for (const close of closing.splice(0)) close();
    await expect(client.check(calm())).rejects.toBeInstanceOf(Retryable);
    await expect(client.check(AbortSignal.abort())).rejects.toBeInstanceOf(Retryable);
  });
});
