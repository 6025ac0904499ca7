import { isInDomains, isSameAddress } from '@belay/contract/address';
import { addressesBehind, addressesInTable, describeAccount } from '../identity-setting.js';
import { type Identities, mostListed, type Person, type ProviderIdentity } from '../port.js';
import { searchIdentities } from '../search-identities.js';
import { isPossibleName, type PostgresConfig } from './config.js';
import type { Database } from './database.js';

/** Lists the login roles of the server as identities, without the connector's own user. */
export function createIdentities(config: PostgresConfig, database: Database): Identities {
  const toIdentity = (role: string): ProviderIdentity =>
    describeAccount({ id: role, name: role, email: role }, { configured: addressesOf(config, role) });
  const readAll = (signal: AbortSignal) =>
    database.transaction(signal, async (sql) => {
      const rows = await sql<{ name: string }[]>`
        select rolname as name from pg_catalog.pg_roles
        where rolcanlogin and rolname not in (current_user, session_user) order by rolname`;
      return rows.map(({ name }) => toIdentity(name));
    });
  const get = async (role: string, signal: AbortSignal) => {
    if (!isPossibleName(role)) return null;
    return database.transaction(signal, async (sql) => {
      const rows = await sql`
        select from pg_catalog.pg_roles
        where rolcanlogin and rolname = ${role}::text and rolname not in (current_user, session_user)`;
      return rows.length === 1 ? toIdentity(role) : null;
    });
  };
  return {
    list: async (signal) => (await readAll(signal)).slice(0, mostListed),
    get,
    // The addresses are in the configuration, so the server cannot search for them.
    search: async (text, limit, signal) => searchIdentities(await readAll(signal), text, limit),
    async find(person, signal) {
      const role = roleOf(config, person);
      const found = role === undefined ? null : await get(role, signal);
      return found && { ...found, email: person.email };
    },
  };
}

/** Returns the login role to which the `identity` setting maps a person, or undefined. */
function roleOf(config: PostgresConfig, person: Person): string | undefined {
  const email = person.email;
  if (typeof config.identity === 'object') {
    const entries = Object.entries(config.identity.table);
    return entries.find(([address]) => isSameAddress(address, email))?.[1];
  }
  if (config.identity === 'email') return email;
  return isInDomains(email, config.email_domains ?? []) ? email.split('@')[0] : undefined;
}

/** Returns the e-mail addresses that the `identity` setting maps to a login role. */
function addressesOf({ identity, email_domains: domains }: PostgresConfig, role: string): string[] {
  if (typeof identity === 'object') return addressesInTable(identity, (listed) => listed === role);
  return addressesBehind(role, identity === 'email' ? '{email}' : '{username}', domains);
}
