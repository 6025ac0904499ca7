import { acceptLeft, getExecution, listOverdue, returnAccess } from '@belay/core';
import { type Connector, ldapConnector } from '@belay/providers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type OpenLdap, openLdap } from '../../providers/test/ldap/openldap.js';
import { type OverseenCast, openOverseenCastWith, overseers } from './support/overseers.js';
import { ask, catalogWith, minute } from './support/stories.js';

describe('a person of a directory that leaves old names in its groups', () => {
  let server: OpenLdap;
  let cast: OverseenCast;
  let group: string;
  let made = 0;
  let names: { born: string; married: string };
  beforeAll(async () => {
    server = await openLdap();
  });
  beforeEach(async () => {
    made += 1;
    names = { born: `uid=ada${made},${server.people}`, married: `uid=ada${made}.king,${server.people}` };
    await server.person(`ada${made}`);
    await server.change(names.born, 'add', 'mail', ['ada@example.com']);
    group = await server.group();
    const base = catalogWith({}, { providers: ['target'], inherits: [`target:group/${group}`] });
    const settings = server.settings({ placeholder_member: `cn=keeper,${server.groups}` });
    const providers = { target: { provider: 'ldap', config: settings } };
    const catalog = { ...base, providers, access: overseers };
    cast = await openOverseenCastWith({ catalog, connectors: [ldapConnector as Connector] });
  });
  afterEach(async () => {
    await cast[Symbol.asyncDispose]();
    for (const dn of Object.values(names)) await server.admin.del(dn).catch(() => {});
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const members = async () => (await server.members(group)).filter((dn) => !dn.startsWith('cn=keeper,'));
  const hold = () => ask(cast.house, cast.ada, { workflow: 'automatic' });
  const marry = () => server.admin.modifyDN(names.born, names.married.split(',')[0] ?? '');
  const giveBack = async (id: string) => {
    await returnAccess(cast.ada, { execution_id: id });
    await cast.house.work();
  };
  const stateOf = async () => (await cast.house.database.sql`select state from entitlements`)[0]?.state;

  it('loses the access under each name that they had during two overlapping requests', async () => {
    const first = await hold();
    await marry();
    const second = await hold();
    expect(await members()).toEqual([names.born, names.married]);
    await giveBack(first);
    expect(await members()).toContain(names.married);
    await giveBack(second);
    expect([await members(), await stateOf()]).toEqual([[], 'absent']);
  });

  it('gets the access under a new name only after that name was committed', async () => {
    const id = await hold();
    await marry();
    // The grant is ensured again, as after a call that came late.
    await cast.house.database.sql`update entitlements set state = 'granting', due_at = app_now()`;
    await cast.house.work();
    const [row] = await cast.house.database.sql`select names from entitlements`;
    expect(row?.names.map(({ identity }: { identity: string }) => identity)).toEqual([names.born, names.married]);
    expect(await members()).toEqual([names.born, names.married]);
    await giveBack(id);
    await cast.house.pass(20 * minute);
    expect([await members(), await stateOf()]).toEqual([[], 'absent']);
  });

  it('leaves a former name that another person has now, which operators are told, until one of them settles it', async () => {
    const id = await hold();
    await marry();
    await server.person(`ada${made}`);
    await giveBack(id);
    await cast.house.pass(2 * minute);
    expect(await members()).toEqual([names.born]);
    const [late] = (await listOverdue(cast.olga, {})).revocations;
    expect(late).toMatchObject({ executions: [id], left_to_others: expect.stringContaining(names.born) });
    expect((await getExecution(cast.ada, { id })).grants[0]?.state).not.toBe('gone');
    const left = late?.left_to_others ?? '';
    await acceptLeft(cast.olga, { id: late?.id ?? '', left, reason: 'a member of the team' });
    await cast.house.work();
    expect([await members(), await stateOf()]).toEqual([[names.born], 'absent']);
    expect((await listOverdue(cast.olga, {})).revocations).toEqual([]);
  });

  it('is a member for good when an administrator adds them after an end: the next request is rejected', async () => {
    const id = await hold();
    await giveBack(id);
    await server.change(server.groupDn(group), 'add', 'member', [names.born]);
    const next = await hold();
    expect((await getExecution(cast.ada, { id: next })).error?.detail).toContain('again, after it was read there');
    await cast.house.pass(20 * minute);
    expect(await members()).toEqual([names.born]);
  });
});
