import { openBrowser } from '@belay/testkit/browser';
import { openVisitor } from '@belay/testkit/visitor';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AuthentikPerson, startAuthentik } from './support/authentik.js';
import { client, openRecipes } from './support/recipes.js';

/**
 * The recipe of Authentik, tested with `oidc-provider`, which is set up as Authentik documents itself; no Authentik runs here. The recipe
 * is changed only in its issuer, which is on loopback.
 */

let authentik: Awaited<ReturnType<typeof startAuthentik>>;
let recipes: Awaited<ReturnType<typeof openRecipes>>;
beforeAll(async () => {
  recipes = await openRecipes();
  authentik = await startAuthentik(recipes.callback);
  await recipes.follow({
    file: 'authentik.yaml',
    variables: {
      OIDC_ISSUER: authentik.issuer,
      OIDC_CLIENT_ID: client.client_id,
      OIDC_CLIENT_SECRET: client.client_secret,
    },
    change: ({ config, ...login }) => ({ ...login, config: { ...config, allow_insecure_issuer: true } }),
  });
});
afterAll(async () => {
  await recipes?.[Symbol.asyncDispose]();
  await authentik?.[Symbol.asyncDispose]();
});

/** Adds a person whose address is verified, as with the scope mapping of the guide; `changes` can override this. */
function add(username: string, changes: Partial<AuthentikPerson> = {}): AuthentikPerson {
  const person = { email: `${username}@example.com`, groups: ['engineers'], email_verified: true, ...changes };
  authentik.people.set(username, person);
  return person;
}

async function signIn(username: string) {
  const visitor = openVisitor(recipes.world.url);
  const { location } = await visitor.visit('/auth/request/login');
  authentik.expect(username);
  const back = await openBrowser().open(location);
  return { visitor, answer: await visitor.visit(back.url.href, { site: 'cross-site' }) };
}

describe('a person whom the provider knows', () => {
  it('signs in, with the groups of the scope profile', async () => {
    add('rita');
    const { visitor, answer } = await signIn('rita');
    expect(answer.status).toBe(200);
    expect(await recipes.whoami(visitor)).toEqual({ status: 200, email: 'rita@example.com', groups: ['engineers'] });
  });

  it.each<[string, string, Partial<AuthentikPerson>, RegExp]>([
    ['una', 'with the scope mapping email as it is by default', { email_verified: false }, /not verified/],
    ['olga', 'whose address is of another domain', { email: 'olga@example.org' }, /domain of your e-mail address/],
  ])('%s, %s, may not', async (username, _who, changes, words) => {
    add(username, changes);
    const { visitor, answer } = await signIn(username);
    expect(answer.status).toBe(403);
    expect(answer.body).toMatch(words);
    expect((await recipes.whoami(visitor)).status).toBe(401);
  });
});

describe('what changes at the provider after the sign-in', () => {
  it('counts: groups are read again, while and after the access token lasts', async () => {
    const gail = add('gail');
    const { visitor } = await signIn('gail');
    gail.groups = ['approvers'];
    expect((await recipes.later(16, visitor)).groups).toEqual(['approvers']);
    gail.groups = [];
    expect((await recipes.later(60, visitor)).groups).toEqual([]);
  });

  it.each([
    [16, 'dan'],
    [70, 'eve'],
  ])('a person who was deactivated is signed out after %d minutes', async (minutes, username) => {
    const person = add(username);
    const { visitor } = await signIn(username);
    person.active = false;
    expect((await recipes.later(minutes, visitor)).status).toBe(401);
  });
});
