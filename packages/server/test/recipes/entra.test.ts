import { send } from '@belay/testkit/serve';
import { openVisitor } from '@belay/testkit/visitor';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSamlIdentityProvider, type Said } from '../../../providers/test/support/saml-identity-provider.js';
import { forgeries, startIssuer } from './support/issuer.js';
import { client, openRecipes, type Visitor } from './support/recipes.js';

/**
 * The two recipes of Microsoft Entra ID.
 *
 * OpenID Connect is tested with the emulator of `emulate`, whose people have a tenant. A proxy in front of it adds what Entra documents:
 * groups are only in the ID token, by their object IDs; they are left out for a person without groups, and replaced by `_claim_names` for
 * a person with more than 200. Refresh tokens need `offline_access`, and end when a user is blocked, while access tokens last until they
 * expire. Like Entra, the emulator sends no `email_verified`.
 *
 * SAML is tested with the identity provider of our tests, which sends the attributes that Entra documents: no emulator has Entra's SAML.
 */

const forged = await forgeries();
const tenant = '7f8a1b1c-0d3e-4c55-9f5a-1d2b3c4d5e6f';
const groupOf = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
const approvers = groupOf(1);
const unnamed = groupOf(99);

let recipes: Awaited<ReturnType<typeof openRecipes>>;
beforeAll(async () => {
  recipes = await openRecipes();
});
afterAll(() => recipes?.[Symbol.asyncDispose]());

describe('by OpenID Connect', () => {
  const users = [
    ...['rita', 'gail', 'many', 'grow', 'nell', 'dan', 'eve'].map((name) => ({
      email: `${name}@example.com`,
      tenant_id: tenant,
    })),
    { email: 'olga@example.org', tenant_id: tenant },
    { email: 'theo@example.com', tenant_id: '11111111-2222-4333-8444-555555555555' },
    { email: 'pia@example.com' },
  ];
  /** The object IDs of groups, by address. */
  const groups = new Map<string, string[]>();
  let entra: Awaited<ReturnType<typeof startIssuer>>;
  beforeAll(async () => {
    entra = await startIssuer({
      service: 'microsoft',
      seed: {
        microsoft: {
          users,
          oauth_clients: [{ ...client, name: 'Belay', redirect_uris: [recipes.callback], tenant_id: tenant }],
        },
      },
      paths: {
        authorize: '/oauth2/v2.0/authorize',
        token: '/oauth2/v2.0/token',
        keys: '/discovery/v2.0/keys',
        userinfo: '/oidc/userinfo',
      },
      refreshes: (request) => (request.get('scope') ?? '').split(' ').includes('offline_access'),
      idToken(claims) {
        const held = groups.get(String(claims.email)) ?? [];
        if (held.length === 0) return claims;
        if (held.length <= 200) return { ...claims, groups: held };
        const endpoint = `https://graph.microsoft.com/v1.0/users/${claims.sub}/getMemberObjects`;
        return { ...claims, _claim_names: { groups: 'src1' }, _claim_sources: { src1: { endpoint } } };
      },
    });
    await recipes.follow({
      file: 'entra-oidc.yaml',
      variables: {
        OIDC_ISSUER: `${entra.url}/${tenant}/v2.0`,
        OIDC_CLIENT_ID: client.client_id,
        OIDC_CLIENT_SECRET: client.client_secret,
      },
      // The issuer is on loopback.
      change: ({ config, ...login }) => ({ ...login, config: { ...config, allow_insecure_issuer: true } }),
    });
  });
  afterAll(() => entra?.[Symbol.asyncDispose]());

  it('a person signs in, with the groups that the recipe names', async () => {
    groups.set('rita@example.com', [approvers, unnamed]);
    const { visitor, answer } = await recipes.signIn('rita@example.com');
    expect(answer.status).toBe(200);
    expect(await recipes.whoami(visitor)).toEqual({ status: 200, email: 'rita@example.com', groups: ['approvers'] });
  });

  it.each([
    ['olga@example.org', 'whose address the operator does not vouch for', /not verified/],
    ['theo@example.com', 'who is of another tenant', /did not confirm your identity/],
    ['pia@example.com', 'who has a private account', /did not confirm your identity/],
  ])('%s, %s, may not', async (email, _who, words) => {
    const { visitor, answer } = await recipes.signIn(email);
    expect(answer.status).toBe(403);
    expect(answer.body).toMatch(words);
    expect((await recipes.whoami(visitor)).status).toBe(401);
  });

  it.each(forged)('no one may, with an ID token %s', async (_what, forgery) => {
    entra.forgeNext(forgery);
    const { visitor, answer } = await recipes.signIn('rita@example.com');
    expect([answer.status, (await recipes.whoami(visitor)).status]).toEqual([403, 401]);
  });

  const crowd = Array.from({ length: 201 }, (_, index) => groupOf(1_000 + index));

  it('a person in more than 200 groups may not, and reads why', async () => {
    groups.set('many@example.com', crowd);
    const { visitor, answer } = await recipes.signIn('many@example.com');
    expect(answer.status).toBe(403);
    expect(answer.body).toMatch(/left out your groups, because you are in too many/);
    expect((await recipes.whoami(visitor)).status).toBe(401);
    groups.set('many@example.com', crowd.slice(1));
    expect((await recipes.signIn('many@example.com', visitor)).answer.status).toBe(200);
  });

  it('a person who gets into more than 200 groups is signed out: what they were in counts no longer', async () => {
    groups.set('grow@example.com', [approvers]);
    const { visitor } = await recipes.signIn('grow@example.com');
    groups.set('grow@example.com', [approvers, ...crowd]);
    expect((await recipes.later(16, visitor)).status).toBe(401);
  });

  it('groups that change are read again, also when none is left', async () => {
    groups.set('gail@example.com', [approvers]);
    const { visitor } = await recipes.signIn('gail@example.com');
    groups.set('gail@example.com', [groupOf(2)]);
    expect((await recipes.later(16, visitor)).groups).toEqual(['administrators']);
    groups.delete('gail@example.com');
    expect((await recipes.later(16, visitor)).groups).toEqual([]);
  });

  it('a person without groups gets those that they join, and keeps them', async () => {
    const { visitor } = await recipes.signIn('nell@example.com');
    groups.set('nell@example.com', [approvers]);
    expect((await recipes.later(50, visitor)).groups).toEqual(['approvers']);
    expect((await recipes.later(16, visitor)).groups).toEqual(['approvers']);
  });

  it.each([
    ['in a group', 16, 'dan@example.com', [approvers]],
    ['in no group', 70, 'eve@example.com', []],
  ] as const)('a person %s who was blocked is signed out after %d minutes', async (_who, minutes, email, held) => {
    groups.set(email, [...held]);
    const { visitor } = await recipes.signIn(email);
    entra.end(email, 'refresh');
    expect((await recipes.later(minutes, visitor)).status).toBe(401);
  });
});

describe('by SAML', () => {
  const idp = createSamlIdentityProvider();
  const claims = 'http://schemas.xmlsoap.org/ws/2005/05/identity/claims';
  const microsoft = 'http://schemas.microsoft.com';
  beforeAll(async () => {
    // The database gets the current time, because the identity provider dates its assertions by it.
    await recipes.world.database.setTime(new Date());
    await recipes.follow({
      file: 'entra.yaml',
      variables: {
        ENTRA_LOGIN_URL: idp.entryPoint,
        ENTRA_IDENTIFIER: idp.entityId,
        ENTRA_CERTIFICATE: idp.certificate,
        BELAY_ENTITY_ID: recipes.world.url,
      },
    });
  });

  /** Signs in at the identity provider, as a person with the attributes that Entra sends. */
  async function signIn(person: { email: string; groups?: Record<string, string[]> }, said: Said = {}) {
    const visitor: Visitor = openVisitor(recipes.world.url);
    const { location } = await visitor.visit('/auth/request/login');
    const metadata = await send(`${recipes.world.url}/api/v1/auth/metadata/login`);
    const attributes = {
      [`${microsoft}/identity/claims/tenantid`]: [tenant],
      [`${microsoft}/identity/claims/objectidentifier`]: [`oid-of-${person.email}`],
      [`${microsoft}/identity/claims/displayname`]: ['Rita Example'],
      [`${claims}/emailaddress`]: [person.email],
      [`${claims}/name`]: [person.email],
      ...person.groups,
    };
    const emailAddress = 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress';
    const posted = await idp.answer(
      location,
      metadata.body,
      { nameId: person.email, attributes },
      { nameIdFormat: emailAddress, ...said },
    );
    const body = new URLSearchParams({ ...posted }).toString();
    const answered = await send(recipes.callback, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'content-length': String(Buffer.byteLength(body)),
        'sec-fetch-site': 'cross-site',
        accept: 'application/json',
      },
      body,
    });
    const { location: back } = answered.headers;
    const answer = back === undefined ? answered : await visitor.visit(back, { site: 'cross-site' });
    return { visitor, answer };
  }

  const groupsOf = (...held: string[]) => ({ [`${microsoft}/ws/2008/06/identity/claims/groups`]: held });

  it('a person signs in, with the groups that the recipe names', async () => {
    const { visitor, answer } = await signIn({ email: 'rita@example.com', groups: groupsOf(approvers, unnamed) });
    expect(answer.status).toBe(200);
    expect(await recipes.whoami(visitor)).toEqual({ status: 200, email: 'rita@example.com', groups: ['approvers'] });
  });

  it.each<[string, { email: string; groups?: Record<string, string[]> }, Said, RegExp]>([
    ['whose address is of another domain', { email: 'olga@example.org' }, {}, /not verified/],
    ['of another tenant', { email: 'rita@example.com' }, { issuer: 'https://sts.windows.net/another/' }, /not confirm/],
    ['who signed in to another application', { email: 'rita@example.com' }, { audience: 'another' }, /not confirm/],
    [
      'in more than 150 groups, which are left out,',
      {
        email: 'rita@example.com',
        groups: {
          [`${microsoft}/claims/groups.link`]: ['https://graph.windows.net/7f8a1b1c/users/1/getMemberObjects'],
        },
      },
      {},
      /left out your groups, because you are in too many/,
    ],
  ])('a person %s may not', async (_who, person, said, words) => {
    const { visitor, answer } = await signIn(person, said);
    expect(answer.status).toBe(403);
    expect(answer.body).toMatch(words);
    expect((await recipes.whoami(visitor)).status).toBe(401);
  });
});
