import { stopUser, upsertUser } from '@belay/core';
import { type Connector, ldapConnector } from '@belay/providers';
import { newId } from '@belay/testkit/house';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type OpenLdap, openLdap } from '../../providers/test/ldap/openldap.js';
import { ask, type Cast, catalogWith, openCast } from './support/stories.js';

describe('access that a colleague requested for an entry of a directory, by its distinguished name', () => {
  let server: OpenLdap;
  let cast: Cast;
  let group: string;
  let rita: string;
  beforeAll(async () => {
    server = await openLdap();
    rita = await server.person('rita');
    await server.change(rita, 'add', 'mail', ['rita.ray@example.test', 'r.ray@example.org']);
  });
  afterEach(() => cast[Symbol.asyncDispose]());
  afterAll(() => server[Symbol.asyncDispose]());

  const holds = async () => (await server.members(group)).includes(rita);

  async function granted(config: object): Promise<void> {
    group = await server.group();
    const base = catalogWith(
      {},
      {
        providers: ['target'],
        inherits: [`target:group/${group}`],
        permissions: { groups: ['engineers'], delegates: { users: ['ada@example.com'] } },
      },
    );
    const settings = server.settings({ placeholder_member: `cn=keeper,${server.groups}`, ...config });
    const catalog = { ...base, providers: { target: { provider: 'ldap', config: settings } } };
    cast = await openCast({ catalog, connectors: [ldapConnector as Connector] });
    await ask(cast.house, cast.ada, { workflow: 'automatic', identities: [rita] });
    expect(await holds()).toBe(true);
  }

  async function stop(email: string): Promise<void> {
    const person = { id: newId(), provider: 'login', subject: 'U-42', email, name: 'Somebody', groups: [] };
    await upsertUser(cast.house.database.db, person);
    await stopUser(cast.house.operator(), { user: email, reason: 'has left' });
    await cast.house.work();
  }

  it.each(['rita@example.test', 'rita.ray@example.test', 'R.Ray@example.org'])(
    'ends when the person with an address of the entry is stopped: %s',
    async (email) => {
      await granted({});
      await stop(email);
      expect(await holds()).toBe(false);
    },
  );

  it.each([
    ['with that login at the first domain', 'rita@example.net'],
    ['with that login at the second domain', 'rita@example.edu'],
    ['with an address of the entry', 'r.ray@example.org'],
  ])('ends when the person %s is stopped, with identity: username and several domains', async (_, email) => {
    await granted({ identity: 'username', email_domains: ['example.net', 'example.edu'] });
    await stop(email);
    expect(await holds()).toBe(false);
  });

  it('ends when one of several people to whom the table gives the entry is stopped', async () => {
    const table = { 'one@example.net': 'rita', 'two@example.net': 'rita' };
    await granted({ identity: { table } });
    await stop('two@example.net');
    expect(await holds()).toBe(false);
  });

  it.each([
    ['by an address', {}],
    ['by login', { identity: 'username', email_domains: ['example.net', 'example.edu'] }],
  ])('stays when a stranger with the same user name in another domain is stopped: %s', async (_, config) => {
    await granted(config);
    await stop('rita@elsewhere.test');
    expect(await holds()).toBe(true);
  });
});
