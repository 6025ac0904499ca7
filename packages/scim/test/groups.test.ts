import { createLogin, createProvisioningToken, revokeProvisioningToken, verifyLogin } from '@belay/core';
import { approvalCatalog } from '@belay/testkit/house';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Directory, openDirectory, patchOf } from './support/directory.js';

let directory: Directory;
beforeEach(async () => {
  directory = await openDirectory({ catalog: approvalCatalog() });
});
afterEach(() => directory[Symbol.asyncDispose]());

/** Signs a person in, and returns a function that reads their groups as each request does. */
async function signIn(name: string, groups: string[]): Promise<() => Promise<string[] | undefined>> {
  const { house } = directory;
  const { actor } = await house.person(name, groups);
  const { token } = await createLogin(house.ctx, { user: actor, kind: 'browser' });
  return async () => (await verifyLogin(house.ctx, { token }))?.actor.groups;
}

describe('provisioned groups', () => {
  it('count for a login that is open, at once, by each way in which directories send them', async () => {
    const { add, call } = directory;
    const groups = await signIn('ada', ['from-sign-in']);
    const neighbour = await signIn('grace', ['approvers']);
    const id = await add({ userName: 'ada@example.com', externalId: 'ada' });
    const made = await call('POST', '/Groups', { displayName: 'engineers', members: [{ value: id }] });
    expect(made.status).toBe(201);
    const path = `/Groups/${String(made.body.id)}`;
    expect(await groups()).toEqual(['engineers']);
    // Entra: members by a list; by a filtered path.
    await call('PATCH', path, patchOf({ op: 'Remove', path: 'members', value: [{ value: id }] }));
    expect(await groups()).toEqual([]);
    await call('PATCH', path, patchOf({ op: 'Add', path: 'members', value: [{ value: id }] }));
    expect(await groups()).toEqual(['engineers']);
    await call('PATCH', path, patchOf({ op: 'remove', path: `members[value eq "${id}"]` }));
    expect(await groups()).toEqual([]);
    // Okta: the whole group; the name without a path.
    await call('PUT', path, { displayName: 'engineers', members: [{ value: id, display: 'ada@example.com' }] });
    await call('PATCH', path, patchOf({ op: 'replace', value: { id: made.body.id, displayName: 'builders' } }));
    expect(await groups()).toEqual(['builders']);
    await call('DELETE', path);
    expect(await groups()).toEqual([]);
    expect(await neighbour()).toEqual(['approvers']);
  });

  it('reject members that the directory has not provisioned, and change nothing then', async () => {
    const { add, call } = directory;
    const groups = await signIn('ada', []);
    const id = await add({ userName: 'ada@example.com' });
    const members = [{ value: id }, { value: '0199a3c2-7b1e-7cc3-98c4-dc0c0c07398f' }];
    expect((await call('POST', '/Groups', { displayName: 'engineers', members })).status).toBe(400);
    expect((await call('GET', '/Groups')).body).toMatchObject({ totalResults: 0 });
    expect(await groups()).toEqual([]);
  });
});

describe('a search at the root', () => {
  it('matches no resource that does not have the attribute of its filter', async () => {
    const { add, call } = directory;
    const id = await add({ userName: 'ada@example.com', displayName: 'engineers' });
    const made = await call('POST', '/Groups', { displayName: 'engineers', members: [{ value: id }] });
    const search = async (filter: string, path = '/.search') => {
      const { status, body } = await call('POST', path, { filter });
      const { Resources = [] } = body as { Resources?: { id: string }[] };
      return status === 200 ? Resources.map(({ id: found }) => found) : status;
    };
    expect(await search('displayName eq "engineers"')).toEqual([id, made.body.id]);
    for (const filter of ['userName eq "ada@example.com"', 'active eq true and displayName eq "engineers"']) {
      expect(await search(filter)).toEqual([id]);
    }
    expect(await search(`members eq "${id}"`)).toEqual([made.body.id]);
    expect(await search(`members.value eq "${id}" and displayName eq "engineers"`)).toEqual([made.body.id]);
    expect(await search(`userName eq "ada@example.com" and members eq "${id}"`)).toEqual([]);
    for (const filter of [
      'nickName eq "ada"',
      'userName eq 7',
      'userName eq "ada@example.com" and nickName eq "ada"',
    ]) {
      expect(await search(filter)).toBe(400);
    }
    expect(await search('userName eq "ada@example.com"', '/Groups/.search')).toBe(400);
  });
});

describe('the token of a directory', () => {
  it('has one successor at most, and stops when it is revoked or has expired', async () => {
    const { house, call } = directory;
    const operator = house.operator();
    const next = await createProvisioningToken(operator, { provider: 'login', ttl: 'P1D' });
    await expect(createProvisioningToken(operator, { provider: 'login', ttl: 'P1D' })).rejects.toMatchObject({
      code: 'conflict',
    });
    const by = { authorization: `Bearer ${next.token}` };
    expect((await call('GET', '/Users', undefined, by)).status).toBe(200);
    const third = async () => {
      const { token } = await createProvisioningToken(operator, { provider: 'login', ttl: 'P1D' });
      return { authorization: `Bearer ${token}` };
    };
    await revokeProvisioningToken(operator, { id: next.id });
    expect((await call('GET', '/Users', undefined, by)).status).toBe(401);
    const later = await third();
    await house.database.advance(25 * 60 * 60_000);
    expect((await call('GET', '/Users', undefined, later)).status).toBe(401);
    expect((await call('GET', '/Users')).status).toBe(200);
    await expect(createProvisioningToken(operator, { provider: 'memory', ttl: 'P1D' })).rejects.toMatchObject({
      code: 'invalid',
    });
  });

  it('is rejected with 403 when the configuration no longer lets the provider provision people', async () => {
    const { house, call } = directory;
    await house.applyCatalog(approvalCatalog());
    expect((await call('GET', '/Users')).status).toBe(403);
  });
});

it('names are found in any case of any letter, also where the locale of the database would miss it', async () => {
  const { add, call } = directory;
  await add({ userName: 'ÜNAL', displayName: 'Ünal', emails: [{ value: 'Ünal@example.com' }] });
  await call('POST', '/Groups', { displayName: 'Übersetzer' });
  const found = async (path: string, filter: string) =>
    (await call('GET', `${path}?filter=${encodeURIComponent(filter)}`)).body.totalResults;
  for (const [name, value] of [
    ['userName', 'ünal'],
    ['displayName', 'ÜNAL'],
    ['emails.value', 'ÜNAL@EXAMPLE.com'],
  ]) {
    expect(await found('/Users', `${name} eq "${value}"`), name).toBe(1);
  }
  expect(await found('/Groups', 'displayName eq "ÜBERSETZER"')).toBe(1);
});

it('an address is found by its type, which is another one beside the same address', async () => {
  const { add, call } = directory;
  const emails = [
    { value: 'Wanda@example.com', type: 'work', primary: true },
    { value: 'wanda@home.example', type: 'home' },
  ];
  await add({ userName: 'wanda', emails });
  const search = async (filter: string) => {
    const { status, body } = await call('GET', `/Users?filter=${encodeURIComponent(filter)}`);
    return status === 200 ? body.totalResults : status;
  };
  expect(await search('emails[type eq "work"].value eq "wanda@example.com"')).toBe(1);
  expect(await search('emails[type eq "Work"] eq "WANDA@example.com" and active eq true')).toBe(1);
  expect(await search('emails[type eq "home"].value eq "wanda@example.com"')).toBe(0);
  expect(await search('emails[type eq "work"].value eq "wanda@home.example"')).toBe(0);
  expect(await search('emails[value eq "work"].value eq "wanda@example.com"')).toBe(400);
  expect(await search('emails[type eq "work" and primary eq true].value eq "wanda@example.com"')).toBe(400);
  expect(await search('emails[type eq "work"].display eq "wanda@example.com"')).toBe(400);
  expect(await search('emails[].value eq "wanda@example.com"')).toBe(400);
});
