import { type Act, type Exchange, type Reply, startEmulator } from '@belay/targets';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { client, openRecipes } from './support/recipes.js';

/**
 * The recipe of GitHub, tested with the emulator of `emulate`, which has the sign-in of an OAuth app, people, organizations and teams. A
 * proxy in front of it adds what GitHub documents and the emulator lacks: `GET /user/teams` with its pages; `GET /user/emails` with
 * addresses that are not verified or not public, and then `email: null` in the public profile; 401 for a revoked token. The recipe is
 * changed in its addresses, which are on loopback, and in the numbers of the organization and the teams, as the guide says.
 */

const administrator = { authorization: 'Bearer admin-token', 'content-type': 'application/json' };
const crowd = ['crowd-1', 'crowd-2', 'crowd-3'];
/** The most teams on a page, even when a request names a larger size. Less than GitHub's 100, so that there are several pages. */
const largestPage = 2;
const members = ['rita', 'priv', 'una', 'olga', 'many', 'tess', 'lee', 'rex'];

interface Address {
  email: string;
  primary: boolean;
  verified: boolean;
  visibility: 'public' | 'private' | null;
}

let github: Awaited<ReturnType<typeof startEmulator>>;
let recipes: Awaited<ReturnType<typeof openRecipes>>;
/** The number of a team or an organization at GitHub. */
const numbers = new Map<string, number>();
/** The addresses of people who have no public and verified address. */
const addresses = new Map<string, Address[]>();
/** The people whose tokens GitHub has revoked. */
const revoked = new Set<string>();

/** Sends another request to the emulator as its administrator, who may read everything. */
async function ask(exchange: Exchange, path: string): Promise<{ status: number; json: unknown }> {
  const { status, body } = await exchange.forward({ method: 'GET', path, headers: administrator, body: '' });
  return { status, json: JSON.parse(String(body)) };
}

const complete: Act = {
  name: 'complete GitHub',
  async run(exchange): Promise<Reply> {
    const { path, headers } = exchange.request;
    const url = new URL(path, github.url);
    if (!/^\/user(\/|$)/.test(url.pathname) || headers.authorization === administrator.authorization) {
      return exchange.forward();
    }
    const reply = await exchange.forward({ ...exchange.request, path: '/user' });
    const user = JSON.parse(String(reply.body)) as { login: string };
    if (reply.status !== 200) return reply;
    if (revoked.has(user.login)) return { status: 401, body: { message: 'Bad credentials', status: '401' } };
    const own = addresses.get(user.login);
    if (url.pathname === '/user') return own ? { status: 200, body: { ...user, email: null } } : reply;
    if (url.pathname === '/user/emails' && own) return { status: 200, body: own };
    return url.pathname === '/user/teams' ? answerTeams(exchange, user.login, url) : exchange.forward();
  },
};

async function answerTeams(exchange: Exchange, login: string, url: URL): Promise<Reply> {
  const { json } = await ask(exchange, '/orgs/acme/teams?per_page=100');
  const listed = json as { id: number; slug: string }[];
  const asked = listed.map(({ slug }) => ask(exchange, `/orgs/acme/teams/${slug}/memberships/${login}`));
  const found = await Promise.all(asked);
  // The emulator keeps the organization's members as a team of this name.
  const held = listed.filter(({ slug }, index) => slug !== 'members' && found[index]?.status === 200);
  held.sort((one, other) => other.slug.localeCompare(one.slug));
  const size = Math.min(largestPage, Number(url.searchParams.get('per_page') ?? 30));
  const number = Number(url.searchParams.get('page') ?? 1);
  url.searchParams.set('page', String(number + 1));
  const more: Record<string, string> = held.length > size * number ? { link: `<${url.href}>; rel="next"` } : {};
  return { status: 200, headers: more, body: held.slice(size * (number - 1), size * number) };
}

async function call(method: string, path: string, body?: unknown): Promise<{ id: number }> {
  const answer = await fetch(`${github.url}${path}`, {
    method,
    headers: administrator,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return text === '' ? { id: 0 } : JSON.parse(text);
}

const join = (team: string, login: string) => call('PUT', `/orgs/acme/teams/${team}/memberships/${login}`, {});

beforeAll(async () => {
  recipes = await openRecipes();
  github = await startEmulator({
    service: 'github',
    now: Date.now,
    complete,
    seed: {
      tokens: { 'admin-token': { login: 'admin', scopes: ['repo', 'admin:org'] } },
      github: {
        users: [...members, 'sam'].map((login) => ({
          login,
          name: login,
          email: `${login}@example.${login === 'olga' ? 'org' : 'com'}`,
        })),
        orgs: [
          { login: 'acme', members: [{ login: 'admin', role: 'admin' }, ...members.map((login) => ({ login }))] },
          // Any person can create an organization, with teams of any name.
          { login: 'strangers', members: [{ login: 'sam' }] },
        ],
        oauth_apps: [{ ...client, name: 'Belay', redirect_uris: [recipes.callback] }],
      },
    },
  });
  numbers.set('acme', (await call('GET', '/orgs/acme')).id);
  for (const name of ['approvers', 'administrators', ...crowd])
    numbers.set(name, (await call('POST', '/orgs/acme/teams', { name })).id);
  await recipes.follow({
    file: 'github.yaml',
    variables: { GITHUB_CLIENT_ID: client.client_id, GITHUB_CLIENT_SECRET: client.client_secret },
    change({ config, sign_in, ...login }) {
      const here = Object.entries(config).map(([name, value]) => [
        name,
        typeof value === 'string' ? value.replace('https://api.github.com', github.url) : value,
      ]);
      return {
        ...login,
        config: {
          ...Object.fromEntries(here),
          authorization_endpoint: `${github.url}/login/oauth/authorize`,
          token_endpoint: `${github.url}/login/oauth/access_token`,
          userinfo_endpoint: `${github.url}/user`,
          emails_endpoint: `${github.url}/user/emails`,
        },
        groups: {
          map: Object.fromEntries(['approvers', 'administrators'].map((name) => [String(numbers.get(name)), name])),
        },
        sign_in: { ...sign_in, organizations: [String(numbers.get('acme'))] },
      };
    },
  });
});
afterAll(async () => {
  await recipes?.[Symbol.asyncDispose]();
  await github?.[Symbol.asyncDispose]();
});

describe('a person whom GitHub knows', () => {
  it('signs in, with the teams that the recipe names', async () => {
    await join('approvers', 'rita');
    await join('crowd-1', 'rita');
    const { visitor, answer } = await recipes.signIn('rita');
    expect(answer.status).toBe(200);
    expect(await recipes.whoami(visitor)).toEqual({ status: 200, email: 'rita@example.com', groups: ['approvers'] });
  });

  it('signs in with the primary address when it is private', async () => {
    addresses.set('priv', [
      { email: '7+priv@users.noreply.github.com', primary: false, verified: true, visibility: null },
      { email: 'priv@example.org', primary: false, verified: true, visibility: null },
      { email: 'priv@example.com', primary: true, verified: true, visibility: 'private' },
    ]);
    const { visitor } = await recipes.signIn('priv');
    expect(await recipes.whoami(visitor)).toEqual({ status: 200, email: 'priv@example.com', groups: [] });
  });

  it('has all teams, however many pages GitHub puts them on', async () => {
    for (const name of crowd) await join(name, 'many');
    await join('approvers', 'many');
    await join('administrators', 'many');
    const { visitor } = await recipes.signIn('many');
    expect((await recipes.whoami(visitor)).groups).toEqual(['approvers', 'administrators']);
  });

  it.each<[string, string, Address[] | undefined, RegExp]>([
    ['sam', 'who is not a member of the organization', undefined, /not a member of an organization/],
    ['olga', 'whose address is of another domain', undefined, /domain of your e-mail address/],
    [
      'una',
      'whose primary address is not verified',
      [
        { email: 'una@example.com', primary: true, verified: false, visibility: 'private' },
        { email: 'una.else@example.com', primary: false, verified: true, visibility: null },
      ],
      /not verified/,
    ],
  ])('%s, %s, may not', async (login, _who, own, words) => {
    if (own) addresses.set(login, own);
    const { visitor, answer } = await recipes.signIn(login);
    expect(answer.status).toBe(403);
    expect(answer.body).toMatch(words);
    expect((await recipes.whoami(visitor)).status).toBe(401);
  });
});

describe('what changes at GitHub after the sign-in', () => {
  it('counts: teams are read again, as long as the login lasts', async () => {
    await join('approvers', 'tess');
    const { visitor } = await recipes.signIn('tess');
    await call('DELETE', '/orgs/acme/teams/approvers/memberships/tess');
    await join('administrators', 'tess');
    expect((await recipes.later(16, visitor)).groups).toEqual(['administrators']);
    await call('DELETE', '/orgs/acme/teams/administrators/memberships/tess');
    expect((await recipes.later(9 * 60, visitor)).groups).toEqual([]);
  });

  it.each([
    ['lee', 'who left the organization', (login: string) => call('DELETE', `/orgs/acme/members/${login}`)],
    ['rex', 'whose token was revoked', async (login: string) => void revoked.add(login)],
  ])('%s, %s, is signed out', async (login, _who, change) => {
    await join('approvers', login);
    const { visitor } = await recipes.signIn(login);
    expect((await recipes.whoami(visitor)).groups).toEqual(['approvers']);
    await change(login);
    expect((await recipes.later(16, visitor)).status).toBe(401);
  });
});
