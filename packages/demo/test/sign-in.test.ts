import { createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { type Authenticator, oidcConnector, Retryable, Terminal } from '@belay/providers';
import { openBrowser } from '@belay/testkit/browser';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { DemoAccount } from '../src/identity-provider/people.js';
import { type DemoIdentityProviderOptions, startDemoIdentityProvider } from '../src/identity-provider/start.js';

const calm = () => new AbortController().signal;
const secret = () => randomBytes(24).toString('base64url');
const redirectUri = 'http://127.0.0.1:8080/api/v1/auth/callback';
const client = { client_id: 'belay', client_secret: `${secret()}%:+ `, redirect_uris: [redirectUri] };
const ana: DemoAccount = {
  subject: 'u-ana',
  email: 'ana@example.test',
  name: `Ana <b>"O'Neil"</b>`,
  groups: ['engineers', 'staff'],
};
const ben: DemoAccount = {
  subject: 'u-ben',
  email: 'ben@example.test',
  name: 'Ben',
  groups: [],
  password: 'open sesame',
};

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function start(options: Partial<DemoIdentityProviderOptions> = {}) {
  const log: string[] = [];
  const provider = await startDemoIdentityProvider({
    port: 0,
    host: '127.0.0.1',
    people: [ana, ben],
    clients: [client],
    cookieKeys: [secret()],
    log: (line) => log.push(line),
    ...options,
  });
  closing.push(provider.close);
  return { ...provider, log };
}

async function authenticatorOf(issuer: string, config: Record<string, unknown> = {}): Promise<Authenticator> {
  const { client_id, client_secret } = client;
  const parsed = oidcConnector.config.parse({
    issuer,
    client_id,
    client_secret,
    allow_insecure_issuer: true,
    ...config,
  });
  const { authenticator } = await oidcConnector.create(parsed, { now: Date.now, log: () => {} });
  if (!authenticator) throw new Error('the connector has no authenticator');
  return authenticator;
}

const newRequest = () => ({ redirectUri, state: secret(), nonce: secret(), codeVerifier: secret() + secret() });

/** Goes from the authorization URL to the callback like the browser of `person`. */
async function signIn(authenticator: Authenticator, person: DemoAccount, browser = openBrowser()) {
  const expected = newRequest();
  const page = await browser.open(await authenticator.authorizationUrl(expected, calm()));
  expect(page.body).toContain('Sign in to the Belay demo');
  const back = await browser.open(page.url, { subject: person.subject, password: person.password ?? '' });
  expect(back.left).toBe(true);
  return { expected, callback: back.url };
}

const failure = async (work: Promise<unknown>): Promise<Error> => {
  const error = await work.catch((caught: unknown) => caught);
  if (!(error instanceof Error)) throw new Error('It was not rejected');
  return error;
};

describe('a sign-in through the oidc connector and the demo identity provider', () => {
  it('tells who signed in, with verified e-mail, groups and tokens', async () => {
    const { issuer, log } = await start();
    const authenticator = await authenticatorOf(issuer);
    const { expected, callback } = await signIn(authenticator, ana);
    expect(callback.href.startsWith(`${redirectUri}?`)).toBe(true);
    const person = await authenticator.exchange(callback, expected, calm());
    expect(person).toEqual({
      subject: 'u-ana',
      email: 'ana@example.test',
      emailVerified: true,
      name: ana.name,
      groups: ['engineers', 'staff'],
      tokens: {
        accessToken: expect.any(String),
        idToken: expect.any(String),
        expiresInMilliseconds: expect.any(Number),
      },
    });
    const claims = JSON.parse(Buffer.from(person.tokens.idToken?.split('.')[1] ?? '', 'base64url').toString());
    expect(claims).toMatchObject({ sub: 'u-ana', email: ana.email, email_verified: true, groups: ana.groups });
    expect(log).toEqual([]);
  });

  it('sends the redirect URI as it was given, even when the response arrived at another address', async () => {
    const { issuer } = await start();
    const authenticator = await authenticatorOf(issuer);
    const { expected, callback } = await signIn(authenticator, ana);
    const behindProxy = new URL(`http://10.0.0.7:9999/inner${callback.search}`);
    expect((await authenticator.exchange(behindProxy, expected, calm())).subject).toBe('u-ana');
  });

  it('reads groups from the claim that is configured, and sends the secret in the other way too', async () => {
    const { issuer } = await start();
    const authenticator = await authenticatorOf(issuer, { groups_claim: 'no_such_claim' });
    const { expected, callback } = await signIn(authenticator, ana);
    expect((await authenticator.exchange(callback, expected, calm())).groups).toEqual([]);
    const other = await authenticatorOf(issuer, {
      token_endpoint_auth_method: 'client_secret_post',
      groups_claim: 'email',
    });
    const second = await signIn(other, ana);
    expect((await other.exchange(second.callback, second.expected, calm())).groups).toEqual([ana.email]);
  });

  it('asks who signs in each time, so that one browser can play several people', async () => {
    const { issuer } = await start();
    const authenticator = await authenticatorOf(issuer);
    const browser = openBrowser();
    for (const person of [ana, ben, ana]) {
      const { expected, callback } = await signIn(authenticator, person, browser);
      expect((await authenticator.exchange(callback, expected, calm())).email).toBe(person.email);
    }
  });

  it.each(['state', 'nonce', 'codeVerifier'] as const)(
    'rejects an answer whose %s is not the expected one',
    async (part) => {
      const { issuer } = await start();
      const authenticator = await authenticatorOf(issuer);
      const { expected, callback } = await signIn(authenticator, ana);
      const other = newRequest()[part];
      const error = await failure(authenticator.exchange(callback, { ...expected, [part]: other }, calm()));
      expect(error).toBeInstanceOf(Terminal);
      for (const told of [expected[part], other, callback.searchParams.get('code') ?? '?']) {
        expect(error.message).not.toContain(told);
      }
    },
  );

  it('takes a code once', async () => {
    const { issuer } = await start();
    const authenticator = await authenticatorOf(issuer);
    const { expected, callback } = await signIn(authenticator, ana);
    await authenticator.exchange(callback, expected, calm());
    const error = await failure(authenticator.exchange(callback, expected, calm()));
    expect(error).toBeInstanceOf(Terminal);
    expect(error.message).toContain('invalid_grant');
  });

  it('rejects a rejection, an empty answer and one of another issuer', async () => {
    const { issuer } = await start();
    const authenticator = await authenticatorOf(issuer);
    const expected = newRequest();
    const answers = [
      `?error=access_denied&error_description=<script>&state=${expected.state}&iss=${issuer}`,
      `?error=<script>&state=${expected.state}&iss=${issuer}`,
      '',
      `?code=x&state=${expected.state}`,
      `?code=x&state=${expected.state}&iss=http://127.0.0.1:1`,
    ];
    for (const answer of answers) {
      const error = await failure(authenticator.exchange(new URL(redirectUri + answer), expected, calm()));
      expect(error).toBeInstanceOf(Terminal);
      expect(error.message).not.toContain('script');
    }
  });

  it('keeps the wrong client secret out of what it says', async () => {
    const { issuer } = await start();
    const authenticator = await authenticatorOf(issuer, { client_secret: 'not-the-secret' });
    const { expected, callback } = await signIn(authenticator, ana);
    const error = await failure(authenticator.exchange(callback, expected, calm()));
    expect(error).toBeInstanceOf(Terminal);
    expect(error.message).toContain('invalid_client');
    expect(error.message).not.toContain('not-the-secret');
  });

  it('can be retried after an outage of the identity provider', async () => {
    const jwks = {
      keys: [
        {
          ...generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' }),
          kty: 'RSA',
          kid: 'k',
        },
      ],
    };
    const cookieKeys = [secret()];
    const first = await start({ jwks, cookieKeys });
    const port = Number(new URL(first.issuer).port);
    const authenticator = await authenticatorOf(first.issuer);
    const { expected, callback } = await signIn(authenticator, ana);
    const { tokens } = await authenticator.exchange(callback, expected, calm());
    const again = await signIn(authenticator, ana);
    await first.close();
    expect(await failure(authenticator.exchange(again.callback, again.expected, calm()))).toBeInstanceOf(Retryable);
    const stranger = await authenticatorOf(first.issuer);
    expect(await failure(stranger.authorizationUrl(newRequest(), calm()))).toBeInstanceOf(Retryable);

    // With the same keys after a restart, old signatures still verify, and clients with cached keys can sign in.
    const second = await start({ jwks, cookieKeys, port });
    const { keys } = (await (await fetch(`${second.issuer}/jwks`)).json()) as { keys: { n: string }[] };
    expect(keys[0]?.n).toBe(createPublicKey({ key: jwks.keys[0] ?? {}, format: 'jwk' }).export({ format: 'jwk' }).n);
    expect(tokens.idToken).toEqual(expect.any(String));
    for (const one of [authenticator, stranger]) {
      const third = await signIn(one, ben);
      expect((await one.exchange(third.callback, third.expected, calm())).groups).toEqual([]);
    }
  });

  it('honours the signal, before and while it waits', async () => {
    const { issuer } = await start();
    const authenticator = await authenticatorOf(issuer);
    expect(await failure(authenticator.authorizationUrl(newRequest(), AbortSignal.abort()))).toBeInstanceOf(Retryable);
    const stop = new AbortController();
    const call = authenticator.authorizationUrl(newRequest(), stop.signal);
    stop.abort();
    expect(await failure(call)).toBeInstanceOf(Retryable);
    await authenticator.authorizationUrl(newRequest(), calm());
  });
});

describe('the demo identity provider', () => {
  it('requires PKCE', async () => {
    const { issuer } = await start();
    const url = await (await authenticatorOf(issuer)).authorizationUrl(newRequest(), calm());
    for (const name of ['code_challenge', 'code_challenge_method']) url.searchParams.delete(name);
    const back = await openBrowser().open(url);
    expect(back.url.searchParams.get('error')).toBe('invalid_request');
  });

  it('redirects only to addresses that the client registered', async () => {
    const { issuer } = await start();
    const url = await (await authenticatorOf(issuer)).authorizationUrl(newRequest(), calm());
    url.searchParams.set('redirect_uri', 'http://127.0.0.1:9999/evil?<script>');
    const page = await openBrowser().open(url);
    expect([page.left, page.status]).toEqual([false, 400]);
    expect(page.body).not.toContain('<script>');
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  });

  it('shows a page that needs nothing from elsewhere and escapes what it shows', async () => {
    const { issuer } = await start();
    const page = await openBrowser().open(await (await authenticatorOf(issuer)).authorizationUrl(newRequest(), calm()));
    expect(page.status).toBe(200);
    const [first, style, ...rest] = page.headers.get('content-security-policy')?.split('; ') ?? [];
    expect(style).toMatch(/^style-src 'sha256-[A-Za-z0-9+/]+=*'$/);
    expect([first, ...rest]).toEqual([
      "default-src 'none'",
      "form-action 'self' http://127.0.0.1:8080 http://127.0.0.1:* http://localhost:*",
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ]);
    expect(page.body).not.toMatch(/<script|<link|<img|@import|url\(|href=|src=/);
    expect(page.body).not.toContain(ana.name);
    expect(page.body).toContain('Ana &#60;b&#62;&#34;O&#39;Neil&#34;&#60;/b&#62;');
    expect(page.body).toContain('<html lang="en-GB">');
  });

  it('prompts for a password where there is one', async () => {
    const { issuer } = await start();
    const browser = openBrowser();
    const page = await browser.open(await (await authenticatorOf(issuer)).authorizationUrl(newRequest(), calm()));
    const forms: Record<string, string>[] = [
      { subject: ben.subject },
      { subject: ben.subject, password: 'wrong' },
      { subject: 'nobody' },
      {},
    ];
    for (const form of forms) {
      const refused = await browser.open(page.url, form);
      expect([refused.left, refused.status]).toEqual([false, 403]);
      expect(refused.body).toContain('role="alert"');
    }
    expect((await browser.open(page.url, { subject: ben.subject, password: 'open sesame' })).left).toBe(true);
  });

  it('rejects forms from another browser, from another site, or with other fields', async () => {
    const { issuer } = await start();
    const browser = openBrowser();
    const page = await browser.open(await (await authenticatorOf(issuer)).authorizationUrl(newRequest(), calm()));
    const form = { subject: ana.subject };
    expect((await openBrowser().open(page.url, form)).status).toBe(400);
    expect((await browser.open(page.url, form, { origin: 'http://evil.test' })).status).toBe(403);
    expect((await browser.open(page.url, { subject: 'x'.repeat(5000) })).status).toBe(400);
    expect((await browser.open(page.url, form, { 'content-type': 'text/plain' })).status).toBe(400);
    expect((await browser.open(`${issuer}/interaction/abc`)).status).toBe(400);
    expect((await fetch(page.url, { method: 'DELETE' })).status).toBe(405);
    expect((await browser.open(page.url, form, { origin: issuer })).left).toBe(true);
  });

  it('answers under its own address only, and listens on the loopback interface only', async () => {
    const { issuer } = await start();
    const status = await new Promise((resolve, reject) => {
      const headers = { host: 'rebound.test' };
      request(`${issuer}/.well-known/openid-configuration`, { headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on('error', reject)
        .end();
    });
    expect(status).toBe(421);
    await expect(start({ host: '0.0.0.0' as '127.0.0.1' })).rejects.toThrow('loopback');
    await expect(start({ port: Number(new URL(issuer).port) })).rejects.toThrow('EADDRINUSE');
    await expect(start({ cookieKeys: [] })).rejects.toThrow('key');
  });

  it('prints nothing by itself', async () => {
    onTestFinished(() => void vi.restoreAllMocks());
    const printed = (['log', 'info', 'warn', 'error'] as const).map((name) => vi.spyOn(console, name));
    const { issuer } = await start();
    const authenticator = await authenticatorOf(issuer);
    await signIn(authenticator, ana);
    await fetch(`${issuer}/token`, { method: 'POST' });
    await fetch(`${issuer}/nowhere`);
    for (const one of printed) expect(one).not.toHaveBeenCalled();
  });
});
