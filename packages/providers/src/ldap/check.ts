import { Terminal } from '../errors.js';
import type { Weakness } from '../port.js';
import { dialectOf, type LdapConfig, readUrl } from './config.js';
import { readSighting } from './history.js';
import { mayChange } from './obstacles.js';
import { type Session, withoutFeature } from './session.js';
import { findGroup, idOf, readTarget } from './subject.js';

/** Reads all that the connector needs to read. Throws `Terminal` with the setting or the permission that is missing. */
export async function check(session: Session, config: LdapConfig): Promise<void> {
  await readTarget(session, config);
  for (const key of ['people_base', 'groups_base'] as const) {
    const entry = await session.read(config[key], [dialectOf(config).id]);
    if (!entry) throw new Terminal(`${key} does not exist, or the connector's account cannot read it`);
    if (!idOf(entry, config)) {
      throw new Terminal(`The connector's account cannot read ${dialectOf(config).id} below ${key}`);
    }
  }
  if (config.member_ttl && !(await session.takesTimeToLive())) {
    throw new Terminal(`member_ttl: ${withoutFeature}, or the connector's account cannot read CN=Partitions`);
  }
  await session.find(config.people_base, { filter: dialectOf(config).people }, ['1.1'], 1);
  for (const name of config.exclusive) {
    if (!(await findGroup(session, config, name))) throw new Terminal('exclusive: a group of this list does not exist');
  }
}

/** Returns the permissions that the account lacks, and what in the address and the settings is not safe. */
export async function findWeaknesses(session: Session, config: LdapConfig): Promise<Weakness[]> {
  const { active } = dialectOf(config);
  const found: Weakness[] = [];
  if (config.exclusive.length === 0) {
    found.push({
      message: 'exclusive is empty, so the drift audit sees no membership',
      cure: 'List in exclusive the groups that only Belay fills',
    });
  }
  for (const name of config.exclusive) {
    const group = await findGroup(session, config, name);
    if (!group || (await mayChange(session, config, group))) continue;
    found.push({
      message: "The connector's account may not change the members of a group that is listed in exclusive",
      cure: `Permit it to write ${config.member_attribute} of the groups below groups_base (docs/connectors/ldap.md)`,
    });
    break;
  }
  if ((await readSighting(session, config)).position === null) {
    found.push({
      message: `The server does not say how far it has come (${active ? 'invocationId' : 'contextCSN'}), so Belay would believe a copy of it, or a replica that lags behind`,
      cure: active
        ? 'Permit the account to read the NTDS Settings of the domain controller'
        : 'Load the syncprov overlay for the database, and permit the account to read contextCSN at its top',
    });
  }
  if (active && !(await isOneServer(session, config))) {
    found.push({
      message:
        'The address is not the name of one domain controller: a call could reach one that does not have the latest change yet',
      cure: 'Write into url the name of one domain controller as it calls itself (dnsHostName)',
    });
  }
  if (active && !config.member_ttl && (await session.takesTimeToLive())) {
    found.push({
      message: 'The directory supports memberships that expire by themselves, and member_ttl is not set',
      cure: 'Set member_ttl: true',
    });
  }
  return found;
}

async function isOneServer(session: Session, config: LdapConfig): Promise<boolean> {
  const root = await session.read('', ['dnsHostName']);
  const name = config.server_name ?? readUrl(config.url).host;
  return root?.texts('dnsHostName')[0]?.toLowerCase() === name.toLowerCase();
}
