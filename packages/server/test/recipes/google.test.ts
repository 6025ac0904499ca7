import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { forgeries, startIssuer } from './support/issuer.js';
import { client, openRecipes } from './support/recipes.js';

/**
 * The recipe of Google, tested with the emulator of `emulate`, which has `hd` and `email_verified` itself. A proxy in front of it
 * adds what Google documents: refresh tokens need `access_type=offline`, and at every sign-in `prompt=consent`; a client may
 * authenticate by HTTP Basic. It is not tested that Google ends the tokens of a suspended account. The recipe is changed only in its
 * issuer, which is on loopback.
 */

const forged = await forgeries();
const users = [
  { email: 'rita@example.com' },
  // A private account with an address of the company: any person who could once read that mailbox can create one.
  { email: 'pia@example.com', hd: '' },
  { email: 'otto@example.com', hd: 'example.org' },
  { email: 'olga@example.org' },
  { email: 'gus@gmail.com' },
  { email: 'una@example.com', email_verified: false },
  { email: 'dan@example.com' },
  { email: 'eve@example.com' },
];

let google: Awaited<ReturnType<typeof startIssuer>>;
let recipes: Awaited<ReturnType<typeof openRecipes>>;
beforeAll(async () => {
  recipes = await openRecipes();
  google = await startIssuer({
    service: 'google',
    seed: { google: { users, oauth_clients: [{ ...client, name: 'Belay', redirect_uris: [recipes.callback] }] } },
    paths: {
      authorize: '/o/oauth2/v2/auth',
      token: '/oauth2/token',
      keys: '/oauth2/v3/certs',
      userinfo: '/oauth2/v2/userinfo',
    },
    refreshes: (request) => request.get('access_type') === 'offline' && request.get('prompt') === 'consent',
    tokenRequest(request) {
      const [id = '', secret = ''] = Buffer.from((request.headers.authorization ?? '').slice('Basic '.length), 'base64')
        .toString()
        .split(':')
        .map(decodeURIComponent);
      const body = new URLSearchParams(request.body);
      if (!body.has('client_secret')) {
        body.set('client_id', id);
        body.set('client_secret', secret);
      }
      const { authorization: _, ...headers } = request.headers;
      return { ...request, headers, body: body.toString() };
    },
  });
  await recipes.follow({
    file: 'google.yaml',
    variables: { OIDC_ISSUER: google.url, OIDC_CLIENT_ID: client.client_id, OIDC_CLIENT_SECRET: client.client_secret },
    change: ({ config, ...login }) => ({ ...login, config: { ...config, allow_insecure_issuer: true } }),
  });
});
afterAll(async () => {
  await recipes?.[Symbol.asyncDispose]();
  await google?.[Symbol.asyncDispose]();
});

describe('a person whom Google knows', () => {
  it('signs in with an account of the organization, without groups', async () => {
    const { visitor, answer } = await recipes.signIn('rita@example.com');
    expect(answer.status).toBe(200);
    expect(await recipes.whoami(visitor)).toEqual({ status: 200, email: 'rita@example.com', groups: [] });
  });

  it.each([
    ['pia@example.com', 'whose account is a private one with an address of the domain', /organization/],
    ['otto@example.com', 'whose account belongs to another organization', /organization/],
    ['olga@example.org', 'whose address is of another domain', /domain of your e-mail address/],
    ['gus@gmail.com', 'who has a private account', /domain of your e-mail address/],
    ['una@example.com', 'whose address is not verified', /not verified/],
  ])('%s, %s, may not', async (email, _who, words) => {
    const { visitor, answer } = await recipes.signIn(email);
    expect(answer.status).toBe(403);
    expect(answer.body).toMatch(words);
    expect((await recipes.whoami(visitor)).status).toBe(401);
  });

  it.each(forged)('may not, with an ID token %s', async (_what, forgery) => {
    google.forgeNext(forgery);
    const { visitor, answer } = await recipes.signIn('rita@example.com');
    expect([answer.status, (await recipes.whoami(visitor)).status]).toEqual([403, 401]);
  });
});

describe('what changes at Google after the sign-in', () => {
  it('a person stays signed in after the access token has expired', async () => {
    const { visitor } = await recipes.signIn('rita@example.com');
    expect((await recipes.later(70, visitor)).status).toBe(200);
  });

  it.each([
    ['all', 16, 'dan@example.com'],
    ['refresh', 70, 'eve@example.com'],
  ] as const)(
    'a person of whom Google ends tokens (%s) is signed out after %d minutes',
    async (which, minutes, email) => {
      const { visitor } = await recipes.signIn(email);
      google.end(email, which);
      expect((await recipes.later(minutes, visitor)).status).toBe(401);
    },
  );
});
