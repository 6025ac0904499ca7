import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Identities } from '../../src/index.js';
import { mostListed } from '../../src/port.js';
import { type OpenLdap, openLdap } from './openldap.js';

const signal = () => new AbortController().signal;
const person = (email: string) => ({ email, name: '', subject: '' });

let server: OpenLdap;
beforeAll(async () => {
  server = await openLdap();
  await server.person('rita', { displayName: 'Rita Ray', mail: 'rita@example.test' });
  await server.person('sam', { mail: 'shared@example.test' });
  await server.person('sue', { mail: 'shared@example.test' });
});
afterAll(() => server[Symbol.asyncDispose]());

async function open(more: object = {}): Promise<Identities> {
  const { identities } = await server.connect(more);
  if (!identities) throw new Error('no identities');
  return identities;
}

it('finds the one entry of a person by e-mail address, by login, or by a table, and guesses nothing', async () => {
  const rita = { id: `uid=rita,${server.people}`, name: 'Rita Ray', email: 'rita@example.test' };
  const find = async (email: string, more: object) => (await open(more)).find(person(email), signal());
  expect(await find('rita@example.test', {})).toEqual(rita);
  expect(await find('absent@example.test', {})).toBeNull();
  expect(await find('shared@example.test', {})).toBeNull();
  expect(await find('*@example.test', {})).toBeNull();
  const byLogin = { identity: 'username', email_domains: ['example.test'] };
  expect((await find('rita@example.test', byLogin))?.id).toBe(rita.id);
  expect(await find('rita@other.test', byLogin)).toBeNull();
  // An entry gets its owner's address, even when the directory has another address or no address, but not when the
  // entry may belong to several people.
  const sam = `uid=sam,${server.people}`;
  expect((await (await open(byLogin)).get(sam, signal()))?.email).toBe('sam@example.test');
  const several = { ...byLogin, email_domains: ['example.test', 'other.test'] };
  expect(await (await open(several)).get(sam, signal())).toMatchObject({
    email: 'shared@example.test',
    addresses: ['sam@example.test', 'sam@other.test'],
  });
  const byTable = { identity: { table: { 'r.ray@example.test': 'rita' } } };
  expect(await find('r.ray@example.test', byTable)).toMatchObject({ ...rita, email: 'r.ray@example.test' });
  expect(await find('rita@example.test', byTable)).toBeNull();
  expect(await (await open(byTable)).get(rita.id, signal())).toMatchObject({
    email: 'r.ray@example.test',
    addresses: ['rita@example.test'],
  });
});

it('gets an identity by its distinguished name, below the base only', async () => {
  const identities = await open();
  expect((await identities.get(`uid=rita,${server.people}`, signal()))?.name).toBe('Rita Ray');
  for (const id of [
    '',
    'rita',
    `uid=absent,${server.people}`,
    server.target.suffix,
    `cn=belay,ou=services,${server.target.suffix}`,
  ]) {
    expect(await identities.get(id, signal())).toBeNull();
  }
});

it('searches without regard to case, with exact matches first, and takes marks of filters as text', async () => {
  const identities = await open();
  const search = async (text: string, limit = 5) =>
    (await identities.search(text, limit, signal())).map(({ id }) => id);
  expect(await search('RIT')).toEqual([`uid=rita,${server.people}`]);
  await server.person('rita-other', { mail: 'not-rita@example.test' });
  expect((await search('rita@example.test'))[0]).toBe(`uid=rita,${server.people}`);
  expect(await search('*')).toEqual([]);
  expect(await search(')(uid=*')).toEqual([]);
  expect(await search('s', 1)).toHaveLength(1);
});

it('lists three pages of people, and no more than the most that the port allows', async () => {
  // slapd closes a connection on which more than 1,000 requests wait (conn_max_pending_auth).
  for (let first = 0; first < mostListed + 200; first += 100)
    await Promise.all(Array.from({ length: 100 }, (_, index) => server.person(`many-${first + index}`)));
  const listed = await (await open()).list(signal());
  expect(listed).toHaveLength(mostListed);
  expect(new Set(listed.map(({ id }) => id)).size).toBe(mostListed);
});
