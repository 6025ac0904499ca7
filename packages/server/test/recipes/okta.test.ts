import type { JWTPayload } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { forgeries, startIssuer } from './support/issuer.js';
import { client, openRecipes } from './support/recipes.js';

/**
 * The recipe of Okta, with the settings of docs/guides/sign-in.md, tested with the emulator of `emulate`. A proxy in front of it adds what
 * Okta documents and the emulator does differently: the ID token of the code flow is thin, so that the groups, the address and its
 * verification are only at the userinfo endpoint; an empty claim of groups is left out; refresh tokens need `offline_access`. It is not
 * tested that Okta ends the tokens of a deactivated user. The recipe is changed only in its issuer, which is on loopback.
 */

const forged = await forgeries();
const group = (name: string) => `00g${name}`;
const people = ['rita', 'una', 'olga', 'gail', 'nell', 'dan', 'eve'];
const administrator = { authorization: 'SSWS admin' };

let okta: Awaited<ReturnType<typeof startIssuer>>;
let recipes: Awaited<ReturnType<typeof openRecipes>>;
/** Claims by address that replace those of the emulator at the userinfo endpoint. */
const said = new Map<string, JWTPayload>();
beforeAll(async () => {
  recipes = await openRecipes();
  okta = await startIssuer({
    service: 'okta',
    seed: {
      tokens: { admin: { login: 'admin', scopes: [] } },
      okta: {
        users: people.map((name) => {
          const email = `${name}@${name === 'olga' ? 'example.org' : 'example.com'}`;
          return { okta_id: `00u${name}`, login: email, email, first_name: name, last_name: 'Example' };
        }),
        groups: ['engineers', 'approvers'].map((name) => ({ okta_id: group(name), name })),
        group_memberships: people.map((name) => ({ group_okta_id: group('engineers'), user_okta_id: `00u${name}` })),
        oauth_clients: [{ ...client, name: 'Belay', redirect_uris: [recipes.callback], auth_server_id: 'org' }],
      },
    },
    paths: {
      authorize: '/oauth2/v1/authorize',
      token: '/oauth2/v1/token',
      keys: '/oauth2/v1/keys',
      userinfo: '/oauth2/v1/userinfo',
    },
    refreshes: (request) => (request.get('scope') ?? '').split(' ').includes('offline_access'),
    idToken: ({ email: _, email_verified: _verified, groups: _groups, locale: _locale, zoneinfo: _zone, ...thin }) =>
      thin,
    userInfo: ({ groups, ...claims }) => ({
      ...claims,
      ...(Array.isArray(groups) && groups.length > 0 ? { groups } : {}),
      ...said.get(String(claims.email)),
    }),
  });
  await recipes.follow({
    file: 'okta.yaml',
    variables: { OIDC_ISSUER: okta.url, OIDC_CLIENT_ID: client.client_id, OIDC_CLIENT_SECRET: client.client_secret },
    change: ({ config, ...login }) => ({ ...login, config: { ...config, allow_insecure_issuer: true } }),
  });
});
afterAll(async () => {
  await recipes?.[Symbol.asyncDispose]();
  await okta?.[Symbol.asyncDispose]();
});

const move = (name: string, from: string, to?: string) =>
  Promise.all([
    okta.call('DELETE', `/api/v1/groups/${group(from)}/users/00u${name}`, administrator),
    to && okta.call('PUT', `/api/v1/groups/${group(to)}/users/00u${name}`, administrator),
  ]);

describe('a person whom Okta knows', () => {
  it('signs in, with the groups of the claim', async () => {
    const { visitor, answer } = await recipes.signIn('00urita');
    expect(answer.status).toBe(200);
    expect(await recipes.whoami(visitor)).toEqual({ status: 200, email: 'rita@example.com', groups: ['engineers'] });
  });

  it.each([
    ['una', 'whose address is not verified', { email_verified: false }, /not verified/],
    ['olga', 'whose address is of another domain', {}, /domain of your e-mail address/],
  ])('%s, %s, may not', async (name, _who, claims, words) => {
    said.set(`${name}@example.com`, claims);
    const { visitor, answer } = await recipes.signIn(`00u${name}`);
    expect(answer.status).toBe(403);
    expect(answer.body).toMatch(words);
    expect((await recipes.whoami(visitor)).status).toBe(401);
  });

  it.each(forged)('may not, with an ID token %s', async (_what, forgery) => {
    okta.forgeNext(forgery);
    const { visitor, answer } = await recipes.signIn('00urita');
    expect([answer.status, (await recipes.whoami(visitor)).status]).toEqual([403, 401]);
  });
});

describe('what changes at Okta after the sign-in', () => {
  it('counts: groups are read again, also those that are lost, while and after the access token lasts', async () => {
    const { visitor } = await recipes.signIn('00ugail');
    await move('gail', 'engineers', 'approvers');
    expect((await recipes.later(16, visitor)).groups).toEqual(['approvers']);
    await move('gail', 'approvers');
    expect((await recipes.later(60, visitor)).groups).toEqual([]);
  });

  it('a person without groups stays signed in, and gets the groups that they join', async () => {
    await move('nell', 'engineers');
    const { visitor } = await recipes.signIn('00unell');
    expect(await recipes.whoami(visitor)).toEqual({ status: 200, email: 'nell@example.com', groups: [] });
    await move('nell', 'engineers', 'approvers');
    expect((await recipes.later(70, visitor)).groups).toEqual(['approvers']);
  });

  it.each([
    ['all', 16, 'dan'],
    ['refresh', 70, 'eve'],
  ] as const)('a person of whom Okta ends tokens (%s) is signed out after %d minutes', async (which, minutes, name) => {
    const { visitor } = await recipes.signIn(`00u${name}`);
    okta.end(`${name}@example.com`, which);
    expect((await recipes.later(minutes, visitor)).status).toBe(401);
  });

  it('a person whose address is no longer verified is signed out', async () => {
    const { visitor } = await recipes.signIn('00urita');
    said.set('rita@example.com', { email_verified: false });
    expect((await recipes.later(16, visitor)).status).toBe(401);
  });
});
