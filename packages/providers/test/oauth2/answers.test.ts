import { afterEach, describe, expect, it } from 'vitest';
import { type Authenticated, oauth2Connector, Retryable, Terminal } from '../../src/index.js';
import { callback, calm, flow, openProvider, redirectUri, type Said } from './provider.js';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function open(said: Record<string, Said> = {}) {
  const provider = await openProvider(said);
  closing.push(provider.close);
  return provider;
}

async function signIn(said: Record<string, Said> = {}, more: object = {}, url = callback()): Promise<Authenticated> {
  return (await open(said)).open({ ...more }).exchange(url, flow, calm());
}

async function failure(work: Promise<unknown>): Promise<Error> {
  return work.then(
    () => {
      throw new Error('It did not fail');
    },
    (error: Error) => error,
  );
}

describe('the exchange', () => {
  it('sends the code, the verifier and the redirect URI, and its credentials in the header', async () => {
    const provider = await open();
    const person = await provider.open().exchange(callback(), flow, calm());
    expect(person).toEqual({
      subject: 'rita-1',
      email: 'rita@example.test',
      emailVerified: true,
      name: 'Rita',
      groups: ['engineers'],
      tokens: { accessToken: 'the-access-token' },
    });
    const [token, me] = provider.asked;
    expect(token?.form).toEqual({
      grant_type: 'authorization_code',
      code: 'the-code',
      redirect_uri: redirectUri,
      code_verifier: flow.codeVerifier,
    });
    const basic = Buffer.from(String(token?.headers.authorization).replace('Basic ', ''), 'base64').toString();
    expect(basic).toBe('belay:the+secret%3A+of+belay');
    expect(me?.headers.authorization).toBe('Bearer the-access-token');
  });

  it('sends its credentials in the body when configured so, and only its name when it has no secret', async () => {
    const provider = await open();
    await provider.open({ token_endpoint_auth_method: 'client_secret_post' }).exchange(callback(), flow, calm());
    await provider.open({ client_secret: undefined }).exchange(callback(), flow, calm());
    const [posted, , bare] = provider.asked;
    expect(posted?.form).toMatchObject({ client_id: 'belay', client_secret: 'the secret: of belay' });
    expect(posted?.headers.authorization).toBeUndefined();
    expect(bare?.form).toMatchObject({ client_id: 'belay' });
    expect(bare?.form).not.toHaveProperty('client_secret');
    expect(bare?.headers.authorization).toBeUndefined();
  });

  it.each([
    ['another state', callback({ state: 'another' })],
    ['no state', new URL(`${redirectUri}?code=the-code`)],
    ['two states', new URL(`${callback().href}&state=another`)],
    ['two codes', new URL(`${callback().href}&code=another`)],
    ['no code', new URL(`${redirectUri}?state=the-state`)],
    ['an error', callback({ error: 'access_denied' })],
  ])('rejects %s, before a request is sent', async (_what, url) => {
    const provider = await open();
    expect(await failure(provider.open().exchange(url, flow, calm()))).toBeInstanceOf(Terminal);
    expect(provider.asked).toEqual([]);
  });

  it('reads how long tokens last, as a number or as text, and what they are refreshed with', async () => {
    const tokens = { access_token: 'a', token_type: 'Bearer', refresh_token: 'r' };
    for (const expires_in of [3600, '3600']) {
      const { tokens: read } = await signIn({ '/token': { body: { ...tokens, expires_in } } });
      expect(read).toEqual({ accessToken: 'a', refreshToken: 'r', expiresInMilliseconds: 3_600_000 });
    }
    for (const expires_in of [-1, 0, 'soon', null, {}]) {
      const { tokens: read } = await signIn({ '/token': { body: { ...tokens, expires_in } } });
      expect(read).toEqual({ accessToken: 'a', refreshToken: 'r' });
    }
  });
});

describe('a list of the provider', () => {
  const pages = (link: string): Record<string, Said> => ({
    '/teams': { body: [{ name: 'a' }], headers: { link: '</teams?page=2>; rel="next", </teams?page=9>; rel="last"' } },
    '/teams?page=2': { body: [{ name: 'b' }], headers: { link } },
    '/teams?page=3': { body: [{ name: 'c' }] },
  });
  const groupsOf = async (said: Record<string, Said>) => {
    const provider = await open(said);
    const client = provider.open({ groups_endpoint: `${provider.url}/teams` });
    return { provider, work: client.exchange(callback(), flow, calm()) };
  };

  it('is read to its last page', async () => {
    const { work } = await groupsOf(pages('</teams?page=3>; rel=next'));
    expect((await work).groups).toEqual(['a', 'b', 'c']);
  });

  it.each([
    ['at another origin, which does not get the token', 'http://127.0.0.1:9/teams'],
    ['that was read already', '/teams'],
  ])('is rejected when its next page is one %s', async (_what, next) => {
    const { work } = await groupsOf(pages(`<${next}>; rel="next"`));
    expect(await failure(work)).toBeInstanceOf(Terminal);
  });

  it('is rejected when it has no end', async () => {
    const endless = Object.fromEntries(
      Array.from({ length: 40 }, (_, page) => [
        page === 0 ? '/teams' : `/teams?page=${page}`,
        { body: [{ name: `t${page}` }], headers: { link: `</teams?page=${page + 1}>; rel="next"` } },
      ]),
    );
    const { provider, work } = await groupsOf(endless);
    expect(await failure(work)).toBeInstanceOf(Terminal);
    expect(provider.asked.filter(({ path }) => path.startsWith('/teams'))).toHaveLength(20);
  });
});

describe('a response of the provider', () => {
  it.each<[string, Record<string, Said>]>([
    [
      'an error with a 400',
      { '/token': { status: 400, body: { error: 'invalid_grant', error_description: 'the-detail' } } },
    ],
    [
      'an error with a 200',
      { '/token': { body: { error: 'bad_verification_code', error_description: 'the-detail' } } },
    ],
    ['an error beside tokens', { '/token': { body: { error: 'odd', access_token: 'a', token_type: 'bearer' } } }],
    ['an error with markup', { '/token': { status: 400, body: { error: '<b>the-detail</b>' } } }],
    ['no JSON', { '/token': { body: 'access_token=a&token_type=bearer' } }],
    ['a page', { '/token': { body: '<p>the-detail' } }],
    ['a list', { '/token': { body: [] } }],
    ['no token', { '/token': { body: { token_type: 'bearer' } } }],
    ['a token of another kind', { '/token': { body: { access_token: 'a', token_type: 'mac' } } }],
    ['a token that says not which kind', { '/token': { body: { access_token: 'a' } } }],
    ['a token that is no header', { '/token': { body: { access_token: 'a\r\nx: y', token_type: 'bearer' } } }],
    ['an error in the place of the person', { '/me': { status: 401, body: { message: 'the-detail' } } }],
    ['nobody', { '/me': { body: { email: 'rita@example.test', email_verified: true } } }],
    [
      'a person without a text to name them',
      { '/me': { body: { sub: {}, email: 'rita@example.test', email_verified: true } } },
    ],
    ['half a number', { '/me': { body: { sub: 1.5, email: 'rita@example.test', email_verified: true } } }],
    ['no address', { '/me': { body: { sub: 's' } } }],
    ['groups that are no names', { '/me': { body: { sub: 's', email: 'a@b.c', groups: [{ name: 'approvers' }] } } }],
    ['null', { '/me': { body: 'null' } }],
  ])('with %s is rejected permanently, and is not repeated', async (_what, said) => {
    const error = await failure(signIn(said));
    expect(error).toBeInstanceOf(Terminal);
    expect(error.message).not.toMatch(/the-detail|127\.0\.0\.1|secret/);
  });

  it.each<[string, Record<string, Said>]>([
    ['a failure', { '/token': { status: 503, body: { error: 'temporarily_unavailable' } } }],
    ['too many requests', { '/token': { status: 429 } }],
    ['a failure later', { '/me': { status: 500 } }],
    ['a hang-up', { '/token': { answer: (response) => response.destroy() } }],
  ])('with %s is retryable', async (_what, said) => {
    expect(await failure(signIn(said))).toBeInstanceOf(Retryable);
  });

  it('that never arrives is waited for until the signal aborts', async () => {
    const provider = await open({ '/token': { answer: () => {} } });
    const stop = new AbortController();
    const waiting = failure(provider.open().exchange(callback(), flow, stop.signal));
    stop.abort();
    expect(await waiting).toBeInstanceOf(Retryable);
  });

  it('is not read past a megabyte', async () => {
    const huge = { sub: 's', email: 'a@b.c', email_verified: true, name: 'x'.repeat(2 * 1024 * 1024) };
    expect((await failure(signIn({ '/me': { body: huge } }))).message).toContain('larger than');
  });

  it('that leads elsewhere is not followed, so that neither secret nor token goes there', async () => {
    const thief = await open();
    for (const [path, status] of [
      ['/token', 307],
      ['/token', 302],
      ['/me', 307],
    ] as const) {
      const said = { [path]: { status, headers: { location: `${thief.url}${path}` } } };
      expect(await failure(signIn(said))).toBeInstanceOf(Terminal);
    }
    expect(thief.asked).toEqual([]);
  });
});

describe('an e-mail address', () => {
  const me = (claims: object): Record<string, Said> => ({
    '/me': { body: { sub: 's', email: 'rita@example.test', ...claims } },
  });
  const listed = (emails: unknown): Record<string, Said> => ({
    ...me({ email_verified: true }),
    '/emails': { body: emails },
  });

  it('is verified only when the provider returns true', async () => {
    for (const email_verified of [true, 'true'])
      expect((await signIn(me({ email_verified }))).emailVerified).toBe(true);
    for (const email_verified of [false, 'false', 'yes', 1, null, {}, [true], undefined]) {
      expect((await signIn(me({ email_verified }))).emailVerified).toBe(false);
    }
  });

  it('is verified in the domains that the operator lists as managed by the provider', async () => {
    const more = { email_domains: ['Example.test'] };
    expect((await signIn(me({}), more)).emailVerified).toBe(true);
    for (const email of ['rita@elsewhere.test', 'rita@x.example.test', 'rita@elsewhere.test@example.test']) {
      expect(await signIn(me({ email }), more)).toMatchObject({ email, emailVerified: false });
    }
  });

  it('is the primary one of a list, verified or not, regardless of the claims', async () => {
    const provider = async (emails: unknown) => {
      const opened = await open(listed(emails));
      return opened.open({ emails_endpoint: `${opened.url}/emails` }).exchange(callback(), flow, calm());
    };
    const primary = { email: 'home@example.test', primary: true };
    const other = { email: 'rita@example.test', primary: false, verified: true };
    expect(await provider([other, { ...primary, verified: true }])).toMatchObject({
      email: primary.email,
      emailVerified: true,
    });
    for (const verified of [false, 'true', undefined]) {
      expect(await provider([other, { ...primary, verified }])).toMatchObject({
        email: primary.email,
        emailVerified: false,
      });
    }
    for (const emails of [[other], [], {}, 'rita@example.test', [{ primary: true, verified: true }]]) {
      expect(await failure(provider(emails))).toBeInstanceOf(Terminal);
    }
  });
});

describe('the identity of a person', () => {
  it('is read from the fields that are configured, and from nothing inherited', async () => {
    const body = { user: { id: 77, mail: 'rita@example.test', sure: true, roles: 'engineers' }, login: 'rita' };
    const claims = {
      subject: 'user.id',
      email: 'user.mail',
      email_verified: 'user.sure',
      name: ['nick', 'login'],
      groups: 'user.roles',
    };
    expect(await signIn({ '/me': { body } }, { claims })).toMatchObject({
      subject: '77',
      email: 'rita@example.test',
      emailVerified: true,
      name: 'rita',
      groups: ['engineers'],
    });
    for (const subject of ['constructor.name', '__proto__', 'user.missing', 'login.length']) {
      expect(await failure(signIn({ '/me': { body } }, { claims: { ...claims, subject } }))).toBeInstanceOf(Terminal);
    }
  });

  it('has groups by their numbers, which cannot be renamed, and organizations apart from them', async () => {
    const [groups, organizations] = [[{ id: 7, slug: 'approvers' }], [{ login: 'acme' }, { login: 'acme' }]];
    const provider = await open({ '/groups': { body: groups }, '/orgs': { body: organizations } });
    const more = { groups_endpoint: `${provider.url}/groups`, groups_field: 'id' };
    const alone = await provider.open(more).exchange(callback(), flow, calm());
    expect([alone.groups, alone.organizations]).toEqual([['7'], undefined]);
    const apart = { ...more, organizations_endpoint: `${provider.url}/orgs`, organizations_field: 'login' };
    const both = await provider.open(apart).exchange(callback(), flow, calm());
    expect([both.groups, both.organizations]).toEqual([['7'], ['acme']]);
  });

  it('has the groups that a list names by the field that is configured', async () => {
    const provider = await open({ '/groups': { body: [{ slug: 'a' }, { slug: 'b' }, { slug: 'a' }] } });
    const more = { groups_endpoint: `${provider.url}/groups`, groups_field: 'slug' };
    expect((await provider.open(more).exchange(callback(), flow, calm())).groups).toEqual(['a', 'b']);
    for (const body of [{}, [{}], [null], [{ slug: 7.5 }], [{ slug: { a: 1 } }]]) {
      const odd = await open({ '/groups': { body } });
      const client = odd.open({ ...more, groups_endpoint: `${odd.url}/groups` });
      expect(await failure(client.exchange(callback(), flow, calm()))).toBeInstanceOf(Terminal);
    }
  });
});

describe('a refresh', () => {
  const request = { refreshToken: 'the-refresh-token', subject: 'rita-1' };

  it('gives new tokens of the same person', async () => {
    const body = { access_token: 'next', token_type: 'bearer', refresh_token: 'next-refresh', expires_in: 60 };
    const provider = await open({ '/token': { body } });
    expect(await provider.open().refresh(request, calm())).toEqual({
      tokens: { accessToken: 'next', refreshToken: 'next-refresh', expiresInMilliseconds: 60_000 },
      person: {
        subject: 'rita-1',
        email: 'rita@example.test',
        emailVerified: true,
        name: 'Rita',
        groups: ['engineers'],
      },
    });
    expect(provider.asked[0]?.form).toEqual({ grant_type: 'refresh_token', refresh_token: 'the-refresh-token' });
  });

  it('is final when the provider rejects it, or returns another person', async () => {
    const other = await open({ '/me': { body: { sub: 'adam-2' } } });
    expect(await failure(other.open().refresh(request, calm()))).toBeInstanceOf(Terminal);
    const refusing = await open({ '/token': { status: 400, body: { error: 'invalid_grant' } } });
    expect(await failure(refusing.open().refresh(request, calm()))).toBeInstanceOf(Terminal);
  });

  it('is retryable when the provider is down, or rejects our own credentials', async () => {
    for (const answer of [
      { status: 502, body: 'no' },
      { status: 401, body: { error: 'invalid_client' } },
      { status: 400, body: { error: 'unauthorized_client' } },
    ]) {
      const down = await open({ '/token': answer });
      expect(await failure(down.open().refresh(request, calm()))).toBeInstanceOf(Retryable);
    }
  });

  it('keeps the new tokens when the person cannot be read now', async () => {
    for (const answer of [{ status: 503, body: 'no' }, { body: '<html>We will be back soon</html>' }]) {
      const provider = await open({ '/me': answer });
      expect(Object.keys(await provider.open().refresh(request, calm()))).toEqual(['tokens']);
    }
  });

  it('is retryable when the token endpoint returns a response that is not usable, which is not about the person', async () => {
    for (const body of [
      '<html>We will be back soon</html>',
      { access_token: 'next', token_type: 'mac' },
      {},
      'x'.repeat(2 * 1024 * 1024),
    ]) {
      const provider = await open({ '/token': { body } });
      expect(await failure(provider.open().refresh(request, calm()))).toBeInstanceOf(Retryable);
    }
  });
});

describe('a person who is read again', () => {
  const request = { tokens: { accessToken: 'the-access-token' }, subject: 'rita-1' };

  it('has the groups that the provider returns now', async () => {
    const provider = await open({});
    expect(await provider.open().reread(request, calm())).toMatchObject({ subject: 'rita-1', groups: ['engineers'] });
  });

  it('has ended when the token is rejected or belongs to another person, and not when we send too many requests', async () => {
    for (const [answer, kind] of [
      [{ status: 401, body: { message: 'Bad credentials' } }, Terminal],
      [{ body: { sub: 'adam-2', email: 'a@example.test' } }, Terminal],
      [{ status: 403, body: { message: 'API rate limit exceeded' } }, Retryable],
      [{ status: 404, body: {} }, Retryable],
      [{ status: 500, body: {} }, Retryable],
    ] as const) {
      const provider = await open({ '/me': answer });
      expect(await failure(provider.open().reread(request, calm()))).toBeInstanceOf(kind);
    }
  });

  it('has ended when the provider has no address of the person any more', async () => {
    const provider = await open({ '/me': { body: { sub: 'rita-1' } } });
    expect(await failure(provider.open().reread(request, calm()))).toBeInstanceOf(Terminal);
  });

  it.each<[string, Said]>([
    ['a page of a proxy', { body: '<html>We will be back soon</html>' }],
    ['more than a megabyte', { body: 'x'.repeat(2 * 1024 * 1024) }],
    ['a person without a subject', { body: { status: 'maintenance' } }],
    ['groups in another form', { body: { sub: 'rita-1', email: 'rita@example.test', groups: [{ name: 'a' }] } }],
  ])('has not ended when the provider returns %s, which is not about the person', async (_what, said) => {
    const provider = await open({ '/me': said });
    expect(await failure(provider.open().reread(request, calm()))).toBeInstanceOf(Retryable);
  });

  it('has not ended when a list of the provider repeats its pages, leads elsewhere or has another form', async () => {
    for (const said of [
      { body: [], headers: { link: '</list>; rel="next"' } },
      { body: [], headers: { link: '<http://127.0.0.1:1/list>; rel="next"' } },
      { body: { message: 'maintenance' } },
    ]) {
      const provider = await open({ '/list': said });
      for (const list of ['emails_endpoint', 'groups_endpoint']) {
        const client = provider.open({ [list]: `${provider.url}/list` });
        expect(await failure(client.reread(request, calm()))).toBeInstanceOf(Retryable);
      }
    }
  });
});

describe('the configuration', () => {
  const endpoints = {
    authorization_endpoint: 'https://id.example.test/authorize',
    token_endpoint: 'https://id.example.test/token',
    userinfo_endpoint: 'https://id.example.test/me',
  };
  const good = { ...endpoints, client_id: 'belay', client_secret: 'secret' };
  const parse = (config: object) => oauth2Connector.config.safeParse(config);

  it('needs two lines for GitHub, and accepts other addresses for an Enterprise Server', () => {
    const github = parse({ preset: 'github', client_id: 'a', client_secret: 'b' });
    expect(github.data).toMatchObject({
      authorization_endpoint: 'https://github.com/login/oauth/authorize',
      emails_endpoint: 'https://api.github.com/user/emails',
      scopes: ['read:user', 'user:email'],
      claims: { subject: 'id' },
    });
    const own = parse({ preset: 'github', client_id: 'a', token_endpoint: 'https://git.example.test/token' });
    expect(own.data).toMatchObject({ token_endpoint: 'https://git.example.test/token' });
  });

  it.each([
    ['an address without TLS', { token_endpoint: 'http://id.example.test/token' }],
    ['another without', { userinfo_endpoint: 'http://id.example.test/me' }],
    ['credentials in an address', { token_endpoint: 'https://a:b@id.example.test/token' }],
    ['a fragment in an address', { authorization_endpoint: 'https://id.example.test/#a' }],
    ['what is no address', { token_endpoint: 'javascript:alert(1)' }],
    ['no endpoint', { token_endpoint: undefined }],
    ['an unknown preset', { preset: 'gitlab' }],
    ['a domain that is all', { email_domains: ['*'] }],
    ['two ways to know an address', { emails_endpoint: 'https://id.example.test/e', email_domains: ['example.test'] }],
    ['what it does not know', { skip_state: true }],
  ])('rejects %s', (_what, change) => {
    expect(parse(good).success).toBe(true);
    expect(parse({ ...good, ...change }).success).toBe(false);
  });
});
