import { isInDomains, isSameAddress } from '@belay/contract/address';
import { addressesBehind, addressInTable } from '../identity-setting.js';
import { type Identities, mostListed, type Person, type ProviderIdentity } from '../port.js';
import { searchIdentities } from '../search-identities.js';
import { isPossibleName, type PostgresConfig } from './config.js';
import type { Database } from './database.js';

/** Lists the login roles of the server as identities, without the connector's own user. */
export function createIdentities(config: PostgresConfig, database: Database): Identities {
  const addressOf = addressesOf(config);
  const toIdentity = (role: string): ProviderIdentity => ({ id: role, name: role, email: addressOf(role) ?? role });
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

/** Returns the login role that the `identity` setting gives a person; undefined rather than a guess. */
function roleOf(config: PostgresConfig, person: Person): string | undefined {
  const email = person.email;
  if (typeof config.identity === 'object') {
    const entries = Object.entries(config.identity.table);
    return entries.find(([address]) => isSameAddress(address, email))?.[1];
  }
  if (config.identity === 'email') return email;
  return isInDomains(email, config.email_domains ?? []) ? email.split('@')[0] : undefined;
}

/** Returns what tells the address of a login role by the `identity` setting: undefined for a role of no person, or of several. */
function addressesOf({ identity, email_domains: domains }: PostgresConfig): (role: string) => string | undefined {
  if (typeof identity !== 'object') {
    const template = identity === 'email' ? '{email}' : '{username}';
    return (role) => {
      const [address, ...others] = addressesBehind(role, template, domains);
      return others.length === 0 ? address : undefined;
    };
  }
  return (role) => addressInTable(identity, (listed) => listed === role);
}
