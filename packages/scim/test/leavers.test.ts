import {
  type ActorContext,
  createLogin,
  decideApproval,
  getExecution,
  requestElevation,
  type UserActor,
  verifyLogin,
} from '@belay/core';
import { approvalCatalog } from '@belay/testkit/house';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Directory, openDirectory, patchOf } from './support/directory.js';

type Person = ActorContext & { actor: UserActor };

let directory: Directory;
let ada: Person;
let grace: Person;
beforeEach(async () => {
  directory = await openDirectory({
    catalog: approvalCatalog({
      role: { permissions: { groups: ['engineers'], delegates: { groups: ['engineers'] } } },
    }),
    scim: { groups: 'sign_in' },
  });
  ada = await directory.house.person('ada', ['engineers']);
  grace = await directory.house.person('grace', ['approvers', 'engineers']);
});
afterEach(() => directory[Symbol.asyncDispose]());

const access = { role: 'read' };
const holds = (name = 'ada') => directory.house.provider.holds(`${name}@example.com`, access);
const off = patchOf({ op: 'Replace', path: 'active', value: 'False' });
const mail = { emails: [{ value: 'mallory@example.com' }] };
const addAda = (more: object = {}) => directory.add({ userName: 'ada@example.com', active: true, ...more });

async function request(person: Person, more: { workflow?: string; identities?: string[] } = {}): Promise<string> {
  const asked = { role: 'reader', reason: 'a ticket', duration: 'PT30M', workflow: 'automatic', ...more };
  const { output } = await requestElevation(person, asked);
  await directory.house.work();
  return output.execution_id;
}

async function isSignedIn(person: Person): Promise<(then: boolean) => Promise<void>> {
  const { token } = await createLogin(directory.house.ctx, { user: person.actor, kind: 'browser' });
  return async (then) => expect((await verifyLogin(directory.house.ctx, { token })) !== null).toBe(then);
}

describe('a person who leaves', () => {
  it.each<[string, (id: string) => [string, unknown]]>([
    ['Entra’s text', () => ['PATCH', off]],
    ['Entra’s add', () => ['PATCH', patchOf({ op: 'Add', path: 'active', value: 'false' })]],
    ['Okta’s patch without a path', () => ['PATCH', patchOf({ op: 'replace', value: { active: false } })]],
    [
      'a path with its schema',
      () => [
        'PATCH',
        patchOf({ op: 'replace', path: 'urn:ietf:params:scim:schemas:core:2.0:User:Active', value: false }),
      ],
    ],
    ['a list of one', () => ['PATCH', patchOf({ op: 'Replace', path: 'active', value: [{ value: 'False' }] })]],
    [
      'Okta’s whole user',
      (id) => [
        'PUT',
        {
          schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
          id,
          userName: 'ada@example.com',
          name: { givenName: 'Ada', familyName: 'Lovelace' },
          emails: [{ primary: true, value: 'ada@example.com', type: 'work' }],
          groups: [],
          active: false,
        },
      ],
    ],
    ['a deletion', () => ['DELETE', undefined]],
  ])('loses login, open request and access by %s', async (_what, change) => {
    const { call, house } = directory;
    const id = await addAda();
    const signedIn = await isSignedIn(ada);
    const held = await request(ada);
    const waiting = await request(ada, { workflow: 'approved' });
    await signedIn(true);
    expect(await holds()).toBe(true);
    const [method, body] = change(id);
    expect((await call(method, `/Users/${id}`, body)).status).toBeLessThan(300);
    await signedIn(false);
    await house.work();
    expect(await holds()).toBe(false);
    for (const one of [held, waiting]) expect((await getExecution(ada, { id: one })).status).toBe('terminated');
    await expect(request(ada)).rejects.toMatchObject({ code: 'unauthenticated' });
    const ended = await house.database.sql`select ended_reason from grants`;
    expect(ended.map(({ ended_reason }) => ended_reason)).toEqual(['deprovisioned']);
    const [told] = await house.database.sql`select level, provider from ledger where type = 'user.deprovisioned'`;
    expect(told).toEqual({ level: 'warning', provider: 'login' });
  });

  it('is not granted what an approver approves at that moment', async () => {
    const { call, house } = directory;
    const id = await addAda();
    const waiting = await request(ada, { workflow: 'approved' });
    await Promise.all([
      decideApproval(grace, { id: waiting, verdict: 'approve', via: 'api' }).catch(() => undefined),
      call('PATCH', `/Users/${id}`, off),
    ]);
    await house.work();
    await house.pass(60 * 60_000);
    expect(await holds()).toBe(false);
  });

  it('may no longer decide, under a login that was verified before', async () => {
    const { add, call, house } = directory;
    const id = await add({ userName: 'grace', externalId: 'grace', active: true });
    const waiting = await request(ada, { workflow: 'approved' });
    await call('PATCH', `/Users/${id}`, off);
    await expect(decideApproval(grace, { id: waiting, verdict: 'approve', via: 'api' })).rejects.toMatchObject({
      code: 'unauthenticated',
    });
    await house.work();
    expect(await holds()).toBe(false);
  });

  it('loses what a colleague requested for them, also when they never signed in here', async () => {
    const { add, call, house } = directory;
    const id = await add({ userName: 'mallory@example.com', active: true });
    await request(ada, { identities: ['mallory@example.com'] });
    await request(grace);
    expect([await holds('mallory'), await holds('grace')]).toEqual([true, true]);
    await call('PATCH', `/Users/${id}`, off);
    await house.work();
    expect([await holds('mallory'), await holds('grace')]).toEqual([false, true]);
  });

  it('loses what a colleague requested for an address that the directory has changed since', async () => {
    const { add, call, house } = directory;
    const id = await add({ userName: 'mallory@example.com', active: true });
    await request(ada, { identities: ['mallory@example.com'] });
    await house.database.advance(60_000);
    const renamed = patchOf({ op: 'Replace', path: 'userName', value: 'married@example.com' });
    expect((await call('PATCH', `/Users/${id}`, renamed)).status).toBe(200);
    await house.work();
    expect(await holds('mallory')).toBe(true);
    await call('PATCH', `/Users/${id}`, off);
    await house.work();
    expect(await holds('mallory')).toBe(false);
  });

  it('takes nothing from the person who has the former address afterwards', async () => {
    const { add, call, house } = directory;
    const id = await add({ userName: 'mallory@example.com', active: true });
    await call('PATCH', `/Users/${id}`, patchOf({ op: 'Replace', path: 'userName', value: 'married@example.com' }));
    await house.database.advance(120_000);
    await request(ada, { identities: ['mallory@example.com'] });
    await call('PATCH', `/Users/${id}`, off);
    await house.work();
    expect(await holds('mallory')).toBe(true);
  });

  it('comes back with nothing when the directory activates them again', async () => {
    const { call, house } = directory;
    const id = await addAda();
    const before = await isSignedIn(ada);
    await request(ada);
    await call('PATCH', `/Users/${id}`, off);
    await call('PATCH', `/Users/${id}`, patchOf({ op: 'Replace', path: 'active', value: 'True' }));
    await before(false);
    await house.work();
    expect(await holds()).toBe(false);
    await (await isSignedIn(ada))(true);
  });

  it('stays out after a deletion until the directory creates them again', async () => {
    const { call } = directory;
    const id = await addAda({ externalId: 'ada' });
    await call('DELETE', `/Users/${id}`);
    expect((await call('GET', `/Users/${id}`)).status).toBe(404);
    await (await isSignedIn(ada))(false);
    await addAda({ externalId: 'ada' });
    await (await isSignedIn(ada))(true);
  });

  it('is found by subject, then by name, then by address, and neighbours keep all they have', async () => {
    const { add, call, house } = directory;
    // Another account of the directory that has Ada's address, but is not Ada's.
    const admin = await add({ userName: 'ada-admin', emails: [{ value: 'ada@example.com' }], active: true });
    await addAda();
    const signedIn = await isSignedIn(ada);
    const neighbour = await isSignedIn(grace);
    await request(grace);
    // Access that Ada requested herself, and access that a colleague requested for Ada.
    await request(ada);
    await request(grace, { identities: ['ada@example.com'] });
    await call('PATCH', `/Users/${admin}`, off);
    await signedIn(true);
    await call('DELETE', `/Users/${admin}`);
    await signedIn(true);
    await neighbour(true);
    await house.work();
    expect([await holds('grace'), await holds()]).toEqual([true, true]);
    const ended = await house.database.sql`select from grants where ended_at is not null`;
    expect(ended).toHaveLength(0);
  });

  it.each([
    ['an active account is named by it', 'admin', { userName: 'mallory@example.com' }, true],
    ['an active account has it as well', 'admin', { userName: 'mallory', ...mail }, true],
    ['the account named by it is inactive', 'admin', { userName: 'mallory@example.com', active: false }, false],
    ['only the deactivated account is named by it', 'Mallory@example.com', { userName: 'admin', ...mail }, false],
  ])(
    'of two accounts with the address of a person who never signed in says who leaves: %s',
    async (_, userName, other, stays) => {
      const { add, call, house } = directory;
      await add({ active: true, ...other });
      const id = await add({ userName, ...mail, active: true });
      await request(grace, { identities: ['mallory@example.com'] });
      expect(await holds('mallory')).toBe(true);
      await call('PATCH', `/Users/${id}`, off);
      await house.work();
      expect(await holds('mallory')).toBe(stays);
    },
  );

  it('takes nothing by a former address that an active account has now, whose person never signed in', async () => {
    const { add, call, house } = directory;
    const id = await add({ userName: 'admin', ...mail, active: true });
    await add({ userName: 'mallory@example.com', active: true });
    await request(grace, { identities: ['mallory@example.com'] });
    await call('PATCH', `/Users/${id}`, patchOf({ op: 'Remove', path: 'emails' }));
    await call('PATCH', `/Users/${id}`, off);
    await house.work();
    expect(await holds('mallory')).toBe(true);
  });

  it.each([
    ['in the change that deactivates it', []],
    ['before it is deactivated', [patchOf({ op: 'Remove', path: 'emails' })]],
  ])('takes nothing from a person who stays when a second account loses their address %s', async (_when, renamed) => {
    const { add, call, house } = directory;
    const admin = await add({ userName: 'ada-admin', emails: [{ value: 'ada@example.com' }], active: true });
    await addAda();
    const signedIn = await isSignedIn(ada);
    // Access that Ada holds, a request that waits for approval, and access that a colleague requested for Ada.
    await request(ada);
    const waiting = await request(ada, { workflow: 'approved' });
    await request(grace, { identities: ['ada@example.com'] });
    for (const change of renamed) expect((await call('PATCH', `/Users/${admin}`, change)).status).toBe(200);
    const gone = patchOf(...(renamed.length === 0 ? [{ op: 'Remove', path: 'emails' }] : []), {
      op: 'Replace',
      path: 'active',
      value: 'False',
    });
    expect((await call('PATCH', `/Users/${admin}`, gone)).status).toBe(200);
    await house.work();
    await signedIn(true);
    const ended = await house.database.sql`select from grants where ended_at is not null`;
    expect([await holds(), ended, (await getExecution(ada, { id: waiting })).status]).toEqual([true, [], 'waiting']);
  });
});
