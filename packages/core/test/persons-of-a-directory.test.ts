import {
  changeProvisionedUser,
  createProvisionedGroup,
  createProvisionedUser,
  deleteProvisionedUser,
  listApprovers,
  type ProvisionedPerson,
  requestElevation,
  verifyLogin,
} from '@belay/core';
import { approvalCatalog } from '@belay/testkit/house';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Doors, openDoors, type Visitor } from './support/doors.js';
import { approve, ask } from './support/stories.js';

const settings = { corp: { groups: 'all', scim: { groups: 'sign_in' }, trusted_email_domains: ['example.com'] } };
/** As at Entra: the subject of the sign-in is not the id under which the directory knows the person. */
const rita = { subject: 'pairwise-7f3a', email: 'rita@example.com', groups: ['engineers'] };
const adam = { subject: 'adam', email: 'adam@example.com', groups: ['approvers'] };

let doors: Doors;
beforeEach(async () => {
  doors = await openDoors(settings, {
    ...approvalCatalog({ role: { permissions: { groups: ['engineers'] } } }),
    messages: { channels: ['memory'], kinds: ['request.waiting'] },
  });
});
afterEach(() => doors[Symbol.asyncDispose]());

const account = (more: Partial<ProvisionedPerson> = {}): ProvisionedPerson => ({
  userName: 'rita@example.com',
  externalId: 'object-1',
  active: true,
  details: { emails: [{ type: 'work', value: 'rita@example.com' }] },
  ...more,
});
const add = async (more: Partial<ProvisionedPerson> = {}) =>
  (await createProvisionedUser(doors.house.ctx, 'corp', account(more))).id;
const change = (id: string, more: Partial<ProvisionedPerson>) =>
  changeProvisionedUser(doors.house.ctx, 'corp', id, (current) => ({ ...current, ...more }));
const renamed = {
  userName: 'object-1-rita@example.com',
  details: { emails: [{ value: 'object-1-rita@example.com' }] },
};
const off = { active: false };

async function isIn({ token }: Visitor): Promise<boolean> {
  return (await verifyLogin(doors.house.ctx, { token })) !== null;
}
const signIn = (person: Parameters<Doors['signIn']>[1]) => doors.signIn(doors.corp, person);
async function holdAccess(person: Visitor): Promise<() => Promise<boolean>> {
  await requestElevation(person, { role: 'reader', reason: 'a ticket', duration: 'PT30M', workflow: 'automatic' });
  const held = async () => {
    await doors.house.work();
    return doors.house.provider.holds(person.actor.email, { role: 'read' });
  };
  expect(await held()).toBe(true);
  return held;
}

describe('a person who leaves and whose directory renames them loses everything', () => {
  it.each<[string, (id: string) => Promise<unknown>]>([
    ['in the change that deactivates them', (id) => change(id, { ...renamed, ...off })],
    ['before it deactivates them', async (id) => [await change(id, renamed), await change(id, off)]],
    ['by a whole replacement', (id) => change(id, { userName: 'leaver@example.com', active: false, details: {} })],
    ['with another externalId', (id) => change(id, { ...renamed, externalId: 'object-2', ...off })],
    [
      'and deletes them',
      async (id) => [await change(id, renamed), await deleteProvisionedUser(doors.house.ctx, 'corp', id)],
    ],
  ])('%s', async (_when, leave) => {
    const id = await add();
    const me = await signIn(rita);
    const holds = await holdAccess(me);
    await leave(id);
    expect(await isIn(me)).toBe(false);
    expect(await holds()).toBe(false);
    await expect(signIn(rita)).rejects.toMatchObject({ code: 'forbidden' });
    const [told] = await doors.house.database.sql`select data from ledger where type = 'user.deprovisioned'`;
    expect(told?.data.users).toEqual([me.actor.id]);
  });

  it('also when the directory provisioned them only after they had signed in', async () => {
    const me = await signIn(rita);
    const id = await add();
    await change(id, { ...renamed, ...off });
    expect(await isIn(me)).toBe(false);
  });

  it('also when the subject of their sign-in was the externalId that the change replaces', async () => {
    const me = await signIn(rita);
    const id = await add({ externalId: rita.subject, userName: 'r7', details: {} });
    await change(id, { externalId: 'another', ...off });
    expect(await isIn(me)).toBe(false);
  });

  it('and the person who gets the address afterwards loses nothing, also by the deletion of the old account', async () => {
    const id = await add();
    await signIn(rita);
    await change(id, renamed);
    await change(id, off);
    await add({ externalId: 'object-2' });
    const next = await signIn({ ...rita, subject: 'pairwise-new' });
    const holds = await holdAccess(next);
    await deleteProvisionedUser(doors.house.ctx, 'corp', id);
    expect(await isIn(next)).toBe(true);
    expect(await holds()).toBe(true);
    // The leaver still has the address at the provider, which has not noticed yet.
    await expect(signIn(rita)).rejects.toMatchObject({ code: 'forbidden' });
  });

  it('and comes back under a new account of the directory when they are hired again', async () => {
    const id = await add();
    const me = await signIn(rita);
    await change(id, { ...renamed, ...off });
    await doors.house.database.advance(1_000);
    await add({ externalId: 'object-2' });
    expect(await isIn(me)).toBe(false);
    const again = await signIn(rita);
    await change(id, { active: false, externalId: null });
    await deleteProvisionedUser(doors.house.ctx, 'corp', id);
    expect(await isIn(again)).toBe(true);
  });

  it('while a person who is only renamed keeps all they have', async () => {
    const id = await add();
    const me = await signIn(rita);
    const holds = await holdAccess(me);
    await change(id, { userName: 'married@example.com', details: { emails: [{ value: 'married@example.com' }] } });
    expect(await isIn(me)).toBe(true);
    expect(await isIn(await signIn({ ...rita, email: 'married@example.com' }))).toBe(true);
    expect(await holds()).toBe(true);
  });
});

describe('of the accounts of one directory with one externalId the newest counts', () => {
  const subject = { ...rita, subject: 'object-1', email: 'rita.new@example.com' };
  const newer = { userName: 'rita.new@example.com', details: { emails: [{ value: 'rita.new@example.com' }] } };

  it('so that a person whose account was replaced signs in', async () => {
    const old = await add();
    await change(old, off);
    await add(newer);
    const me = await signIn(subject);
    await deleteProvisionedUser(doors.house.ctx, 'corp', old);
    expect(await isIn(me)).toBe(true);
    expect(await isIn(await signIn(subject))).toBe(true);
  });

  it('so that a person who was signed in keeps all they have when the old account ends after the new one was made', async () => {
    const old = await add();
    const me = await signIn({ ...subject, email: 'rita@example.com' });
    await add(newer);
    await change(old, off);
    expect(await isIn(me)).toBe(true);
  });

  it('and leaves when the newest is deactivated', async () => {
    await add();
    const me = await signIn(subject);
    await change(await add(newer), off);
    expect(await isIn(me)).toBe(false);
  });
});

describe('approvers whom only the directory knows', () => {
  it('are shown by name and are told, from before their first sign-in', async () => {
    await doors.configure({ corp: { groups: 'all', scim: {}, trusted_email_domains: ['example.com'] } });
    const { house } = doors;
    const boss = await add({
      userName: 'gm@example.com',
      externalId: 'object-gm',
      details: { displayName: 'Grace', emails: [{ value: 'gm@example.com', primary: true }] },
    });
    const left = await add({ userName: 'gone@example.com', externalId: 'object-gone', details: {}, active: false });
    await createProvisionedGroup(house.ctx, 'corp', {
      displayName: 'approvers',
      externalId: null,
      members: [boss, left],
    });
    const me = await signIn(rita);
    const id = await ask(house, me);
    expect(await listApprovers(me, { id })).toMatchObject({
      people: [{ email: 'gm@example.com', name: 'Grace', groups: ['approvers'], verdict: null }],
      unknown: { users: [], groups: [] },
    });
    await house.work();
    expect(house.provider.messages.map(({ to }) => to)).toEqual(['gm@example.com']);
    const gm = await signIn({ subject: 'pairwise-gm', email: 'gm@example.com', groups: [] });
    expect((await listApprovers(me, { id })).people).toHaveLength(1);
    expect((await listApprovers(gm, { id })).unknown).toEqual({ users: [], groups: [] });
    expect(await approve(gm, id)).toMatchObject({ status: 'approved' });
  });
});

it('an approver of a directory who is renamed and deactivated in one change may not decide', async () => {
  await signIn(adam);
  const id = await add({ userName: 'adam@example.com', externalId: 'object-9', details: {} });
  const boss = await signIn(adam);
  const waiting = await ask(doors.house, await signIn(rita));
  await change(id, { userName: 'leaver-9@example.com', ...off });
  await expect(approve(boss, waiting)).rejects.toMatchObject({ code: 'unauthenticated' });
});
