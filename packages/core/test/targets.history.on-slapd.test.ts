import { confirmSameTarget, readSameTarget, returnAccess } from '@belay/core';
import { type Connector, ldapConnector } from '@belay/providers';
import { startTarget } from '@belay/targets';
import { afterEach, expect, it } from 'vitest';
import { openLdap } from '../../providers/test/ldap/openldap.js';
import { ask, type Cast, catalogWith, minute, openCast, runOut } from './support/stories.js';
import { openSwitch } from './support/switch.js';

const closing: (() => Promise<unknown>)[] = [];
let cast: Cast | undefined;
afterEach(async () => {
  await cast?.[Symbol.asyncDispose]();
  for (const close of closing.splice(0).reverse()) await close();
});

it('a copy of a directory that lacks changes settles nothing before an administrator has decided, also when the first one is back', async () => {
  const overlay = ['overlay syncprov'];
  const server = await openLdap({ settings: overlay });
  closing.push(async () => server[Symbol.asyncDispose]());
  const rita = await server.person('rita', { mail: 'ada@example.com' });
  const group = await server.group();
  const copy = await startTarget('slapd', {
    settings: ['include /etc/ldap/schema/dyngroup.schema', ...overlay],
    content: await server.target.copy(),
  });
  closing.push(async () => copy[Symbol.asyncDispose]());
  const portOf = (url: string) => Number(new URL(url.replace('ldap:', 'http:')).port);
  const address = await openSwitch(portOf(server.target.url));
  closing.push(() => address.close());
  const base = catalogWith({}, { providers: ['target'], inherits: [`target:group/${group}`] });
  const at = (url: string) => {
    const config = server.settings({ url, placeholder_member: `cn=keeper,${server.groups}` });
    return {
      ...base,
      providers: { target: { provider: 'ldap', config } },
      access: { administrators: { users: ['grace@example.com'] } },
    };
  };
  cast = await openCast({
    catalog: at(`ldap://127.0.0.1:${address.port}`),
    connectors: [ldapConnector as Connector],
  });
  const { house, ada } = cast;
  const { sql } = house.database;
  const rows = async () => [...(await sql`select state, elsewhere, last_error from entitlements`)];
  const id = await ask(house, ada, { workflow: 'automatic', duration: 'PT10M' });
  expect(await server.members(group)).toContain(rita);
  // A directory has no room for a mark: its new address comes into force while access is held.
  await house.applyCatalog(at(server.target.url));
  await house.applyCatalog(at(`ldap://127.0.0.1:${address.port}`));
  await expect(house.applyCatalog(at(copy.url))).rejects.toMatchObject({ code: 'invalid' });
  address.lead(portOf(copy.url));
  await returnAccess(ada, { execution_id: id });
  await house.work();
  await house.pass(minute);
  const doubted = [
    { state: 'revoking', elsewhere: true, last_error: expect.stringContaining('lacks something that it had before') },
  ];
  expect(await rows()).toMatchObject(doubted);
  address.lead(portOf(server.target.url));
  await house.pass(minute);
  expect(await rows()).toMatchObject(doubted);
  expect(await server.members(group)).toContain(rita);
  const shown = await readSameTarget(cast.grace, { provider: 'target' });
  await confirmSameTarget(cast.grace, { provider: 'target', digest: shown.digest, reason: 'the copy was stopped' });
  await runOut(house);
  expect(await server.members(group)).not.toContain(rita);
  expect(await rows()).toMatchObject([{ state: 'absent' }]);
});
