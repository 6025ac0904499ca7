import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { oauth2Connector, Retryable, Terminal } from '../../src/index.js';
import { openGitHub } from '../support/github.js';

const redirectUri = 'http://127.0.0.1:8080/api/v1/auth/callback/github';
const flow = { redirectUri, state: 'the-state', nonce: 'the-nonce', codeVerifier: 'v'.repeat(43) };
const calm = () => new AbortController().signal;

let github: Awaited<ReturnType<typeof openGitHub>>;
beforeAll(async () => {
  github = await openGitHub({
    users: [
      { login: 'rita', name: 'Rita', email: 'rita@example.test' },
      { login: 'adam', name: 'Adam', email: 'adam@example.test' },
    ],
    orgs: { acme: ['rita'], other: ['adam'] },
    redirectUri,
  });
});
afterAll(() => github.close());

function open(more: Record<string, unknown> = {}) {
  const config = oauth2Connector.config.parse({ ...github.config, ...more });
  const { authenticator, check } = oauth2Connector.create(config, { now: Date.now, log: () => {} });
  if (!authenticator) throw new Error('There is nothing to sign in with');
  return { authenticator, check };
}

async function answer(authenticator: ReturnType<typeof open>['authenticator'], login = 'rita'): Promise<URL> {
  return github.press(await authenticator.authorizationUrl(flow, calm()), login);
}

describe('a sign-in at GitHub', () => {
  it('returns the person by GitHub’s number, with the verified address', async () => {
    const { authenticator } = open();
    const callback = await answer(authenticator);
    expect(`${callback.origin}${callback.pathname}`).toBe(redirectUri);
    const person = await authenticator.exchange(callback, flow, calm());
    expect(person).toEqual({
      subject: expect.stringMatching(/^\d+$/),
      email: 'rita@example.test',
      emailVerified: true,
      name: 'Rita',
      groups: [],
      tokens: { accessToken: expect.stringMatching(/^gho_/) },
    });
  });

  it('requests what is configured, with PKCE and the state', async () => {
    const url = await open().authenticator.authorizationUrl(flow, calm());
    expect(Object.fromEntries(url.searchParams)).toEqual({
      response_type: 'code',
      client_id: 'belay',
      redirect_uri: redirectUri,
      state: 'the-state',
      scope: 'read:user user:email',
      code_challenge_method: 'S256',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    });
    expect(url.href).not.toContain(flow.codeVerifier);
    const scoped = await open().authenticator.authorizationUrl({ ...flow, scopes: ['repo'] }, calm());
    expect(scoped.searchParams.get('scope')).toBe('repo');
  });

  it('returns the organisations of the person when they are requested', async () => {
    const { authenticator } = open({
      groups_endpoint: `${github.url}/user/orgs`,
      scopes: ['read:user', 'user:email', 'read:org'],
    });
    expect((await authenticator.exchange(await answer(authenticator), flow, calm())).groups).toEqual(['acme']);
    expect((await authenticator.exchange(await answer(authenticator, 'adam'), flow, calm())).groups).toEqual(['other']);
  });

  it('accepts a code once', async () => {
    const { authenticator } = open();
    const callback = await answer(authenticator);
    await authenticator.exchange(callback, flow, calm());
    await expect(authenticator.exchange(callback, flow, calm())).rejects.toThrow(/bad_verification_code/);
  });

  it('is rejected for an error that arrives with status 200', async () => {
    const { authenticator } = open({ client_secret: 'another-secret' });
    const error = await authenticator.exchange(await answer(authenticator), flow, calm()).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(Terminal);
    expect(error.message).toContain('(incorrect_client_credentials)');
    expect(error.message).not.toContain('secret-of');
  });

  it('reports whether GitHub is reachable', async () => {
    await open().check(calm());
    await expect(open({ authorization_endpoint: 'http://127.0.0.1:1/' }).check(calm())).rejects.toBeInstanceOf(
      Retryable,
    );
  });
});
