import { changeProvisionedUser, createProvisionedUser } from '@belay/core';
import { approvalCatalog } from '@belay/testkit/house';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Doors, openDoors } from './support/doors.js';

/** `corp` has the directory and says truly whose an address of the company is; `github` is trusted for none. */
const settings = {
  corp: { groups: 'all', scim: { groups: 'sign_in' }, trusted_email_domains: ['example.com'] },
  github: {},
};

let doors: Doors;
beforeEach(async () => {
  doors = await openDoors(settings, approvalCatalog());
});
afterEach(() => doors[Symbol.asyncDispose]());

const add = (name: string) =>
  createProvisionedUser(doors.house.ctx, 'corp', {
    userName: `${name}@example.com`,
    externalId: `object-of-${name}`,
    active: true,
    details: { emails: [{ value: `${name}@example.com` }] },
  });

it('a leaver does not return by the address of another account, which only a public provider says is theirs', async () => {
  const { id } = await add('eve');
  await add('team-mailbox');
  const eve = { subject: 'eve-at-github', email: 'eve@example.com', groups: [] };
  await doors.signIn(doors.github, eve);
  await changeProvisionedUser(doors.house.ctx, 'corp', id, (current) => ({ ...current, active: false }));
  await expect(doors.signIn(doors.github, eve)).rejects.toMatchObject({ code: 'forbidden' });
  const other = { ...eve, email: 'team-mailbox@example.com' };
  await expect(doors.signIn(doors.github, other)).rejects.toMatchObject({ code: 'forbidden' });
});
