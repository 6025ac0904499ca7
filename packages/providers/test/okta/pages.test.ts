import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ByNames, byNames, type NamedEntitlement } from '../../src/testkit/index.js';
import { openOrganization } from './organization.js';

const calm = () => new AbortController().signal;
const until = new Date('2100-01-01T00:00:00.000Z');
/** The number of members of a group: enough for several pages. */
const members = process.env.CI ? 5_000 : 2_500;
/** A group with many members, and a user in many groups. */
const crowds = [
  { group: 'Crowd', members, prefix: 'crowd' },
  ...Array.from({ length: 420 }, (_, number) => ({ group: `One of many ${number}`, members: 1, prefix: 'many' })),
];

let organization: Awaited<ReturnType<typeof openOrganization>>;
let authorizer: ByNames;
const present = (one: NamedEntitlement) => authorizer.ensurePresent(one, until, calm());
const absent = (one: NamedEntitlement) => authorizer.ensureAbsent(one, calm());
const holds = (one: NamedEntitlement) => authorizer.holds(one, calm());
const authorizerOf = async (config: Record<string, unknown>) => byNames((await organization.client(config)).authorizer);

beforeAll(async () => {
  organization = await openOrganization({ crowds });
  authorizer = await authorizerOf({ exclusive: ['Crowd'] });
});
afterAll(() => organization?.close());

it('finds a membership on the third page of the groups of a user', async () => {
  const group = await organization.group();
  const one = { id: 'entitlement', identity: 'many-1@example.test', access: { group: group.name } };
  expect(await holds(one)).toBe(false);
  await present(one);
  expect(await holds(one)).toBe(true);
  await absent(one);
  expect(await holds(one)).toBe(false);
});

it(`lists ${members} members of an exclusive group, and names one that does not exist after the others`, async () => {
  const found: unknown[] = [];
  for await (const { identity, access, id, pin } of authorizer.list?.(calm()) ?? []) {
    found.push(pin?.subject);
    expect([id, access, identity.startsWith('crowd-')]).toEqual(['', { group: 'Crowd' }, true]);
  }
  expect(new Set(found.map((one) => JSON.stringify(one))).size).toBe(members);
  const more = await authorizerOf({ exclusive: ['Gone', 'Crowd'] });
  let count = 0;
  const all = async () => {
    for await (const _ of more.list?.(calm()) ?? []) count += 1;
  };
  await expect(all()).rejects.toThrow('exclusive');
  expect(count).toBe(members);
});
