import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { applyCatalog, expireLogins, type LiveCatalog } from '@belay/core';
import { createRegistry, oidcConnector } from '@belay/providers';
import { createMemoryConnector } from '@belay/providers/testkit';
import { startTarget, type Targets } from '@belay/targets';
import { openBrowser } from '@belay/testkit/browser';
import { openVisitor } from '@belay/testkit/visitor';
import { createWorld, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';

/**
 * Keycloak with the settings of docs/guides/sign-in.md, and the file of that recipe. Each test has its own person, because it changes
 * that person's data in Keycloak.
 */

const recipe = new URL('../../../../examples/sign-in/keycloak.yaml', import.meta.url);
const password = 'of a person';
const secret = randomBytes(24).toString('hex');

let keycloak: Targets['keycloak'];
let world: World;
let groups: Map<string, string>;
beforeAll(async () => {
  keycloak = await startTarget('keycloak');
  const variables: Record<string, string> = {
    OIDC_ISSUER: `${keycloak.url}/realms/example`,
    OIDC_CLIENT_ID: 'belay',
    OIDC_CLIENT_SECRET: secret,
  };
  const resolve = (reference: string) => variables[reference.replace(/^env:/, '')];
  world = await createWorld({ resolve });
  await keycloak.manage('POST', '', {
    realm: 'example',
    enabled: true,
    sslRequired: 'none',
    groups: [{ name: 'engineers' }, { name: 'approvers' }],
    clients: [
      {
        clientId: 'belay',
        secret,
        redirectUris: [`${world.url}/api/v1/auth/callback/login`],
        attributes: {
          'backchannel.logout.url': `${world.url}/api/v1/auth/backchannel-logout/login`,
          'backchannel.logout.session.required': 'true',
        },
        protocolMappers: [
          {
            name: 'groups',
            protocol: 'openid-connect',
            protocolMapper: 'oidc-group-membership-mapper',
            config: { 'claim.name': 'groups', 'full.path': 'false', 'userinfo.token.claim': 'true' },
          },
        ],
      },
    ],
  });
  const found = (await keycloak.manage('GET', '/example/groups')) as { id: string; name: string }[];
  groups = new Map(found.map(({ id, name }) => [name, id]));

  const catalog = world.context.catalog as LiveCatalog;
  const { document } = catalog.current();
  const { login } = (parse(await readFile(recipe, 'utf8')) as { providers: { login: { config: object } } }).providers;
  // The only difference from the recipe: loopback has no TLS.
  const config = { ...login.config, allow_insecure_issuer: true };
  // As in the file, it is the only sign-in provider, so that its groups count.
  const { demo: _, ...others } = document.providers;
  const providers = { ...others, login: { ...login, config } };
  const connectors = createRegistry([oidcConnector, createMemoryConnector(world.store)]);
  await applyCatalog(
    world.context.db,
    { document: { ...document, providers }, source: 'test' },
    { connectors, resolve },
  );
  await catalog.refresh();
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await keycloak?.[Symbol.asyncDispose]();
});

/** Creates a person in Keycloak, and returns their id there. */
async function addPerson(username: string, changes: object = {}): Promise<string> {
  await keycloak.manage('POST', '/example/users', {
    username,
    email: `${username}@example.com`,
    emailVerified: true,
    firstName: username,
    lastName: 'Example',
    enabled: true,
    credentials: [{ type: 'password', value: password }],
    groups: ['engineers'],
    ...changes,
  });
  const found = (await keycloak.manage('GET', `/example/users?exact=true&username=${username}`)) as { id: string }[];
  return found[0]?.id ?? '';
}

/** Signs in through Keycloak's form with the password. */
async function signIn(username: string, visitor = openVisitor(world.url), at = openBrowser()) {
  const begun = await visitor.visit('/auth/request/login');
  const form = await at.open(begun.location);
  const action = /<form[^>]* action="([^"]+)"/.exec(form.body)?.[1]?.replaceAll('&amp;', '&') ?? '';
  const back = await at.open(action, { username, password });
  return { visitor, answer: await visitor.visit(back.url.href, { site: 'cross-site' }) };
}

async function whoami(visitor: ReturnType<typeof openVisitor>) {
  const { status, json } = await visitor.visit('/auth/whoami');
  return { status, email: json.email, groups: json.groups };
}

describe('a person whom Keycloak knows', () => {
  it('signs in, with the groups that the mapper sends', async () => {
    await addPerson('rita');
    const { visitor, answer } = await signIn('rita');
    expect(answer.status).toBe(200);
    expect(await whoami(visitor)).toEqual({ status: 200, email: 'rita@example.com', groups: ['engineers'] });
  });

  it.each([
    ['una', 'whose address is not verified', { emailVerified: false }, /not verified/],
    ['olga', 'whose address is of another domain', { email: 'olga@example.org' }, /domain of your e-mail address/],
  ])('%s, %s, may not', async (username, _who, changes, words) => {
    await addPerson(username, changes);
    const { visitor, answer } = await signIn(username);
    expect(answer.status).toBe(403);
    expect(answer.body).toMatch(words);
    expect((await whoami(visitor)).status).toBe(401);
  });
});

describe('what changes at Keycloak after the sign-in', () => {
  /** Sets the time of the database to so many minutes after now; Keycloak has its own clock. */
  const setMinutes = (minutes: number) => world.database.setTime(new Date(Date.now() + minutes * 60_000));

  it('counts: groups are read again', async () => {
    const id = await addPerson('gail');
    const { visitor } = await signIn('gail');
    await keycloak.manage('DELETE', `/example/users/${id}/groups/${groups.get('engineers')}`);
    await keycloak.manage('PUT', `/example/users/${id}/groups/${groups.get('approvers')}`);
    await setMinutes(16);
    expect((await whoami(visitor)).groups).toEqual(['approvers']);
    await keycloak.manage('DELETE', `/example/users/${id}/groups/${groups.get('approvers')}`);
    await setMinutes(32);
    expect((await whoami(visitor)).groups).toEqual([]);
  });

  it.each([
    ['dan', 'is disabled there', { enabled: false }],
    ['mel', 'has an address there that is no longer verified', { emailVerified: false }],
    ['abe', 'has another domain there', { email: 'abe@example.org' }],
  ])('%s, who %s, is signed out', async (username, _what, change) => {
    await setMinutes(0);
    const id = await addPerson(username);
    const { visitor } = await signIn(username);
    expect((await whoami(visitor)).status).toBe(200);
    await keycloak.manage('PUT', `/example/users/${id}`, change);
    await setMinutes(16);
    await expireLogins(world.context);
    expect((await whoami(visitor)).status).toBe(401);
  });

  it('a person whose sessions an administrator of Keycloak ends is signed out at once, and no one else', async () => {
    await setMinutes(0);
    const id = await addPerson('lou');
    await addPerson('bea');
    const [lou, bea] = [await signIn('lou'), await signIn('bea')];
    await keycloak.manage('POST', `/example/users/${id}/logout`);
    await expect.poll(async () => (await whoami(lou.visitor)).status).toBe(401);
    expect((await whoami(bea.visitor)).status).toBe(200);
  });
});
