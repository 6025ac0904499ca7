import { isInDomains, isSameAddress } from '@belay/contract/address';
import { addressesBehind, addressesInTable, describeAccount } from '../identity-setting.js';
import { type Identities, mostListed, type ProviderIdentity } from '../port.js';
import { searchIdentities } from '../search-identities.js';
import { type Account, accountOf, identityOf } from './accounts.js';
import type { MysqlConfig } from './config.js';
import type { Database, Statements } from './database.js';

/** Lists the accounts of the server as identities, `user@host`, without the connector's own. */
export function createIdentities(config: MysqlConfig, database: Database): Identities {
  const toIdentity = (account: Account): ProviderIdentity => {
    const id = identityOf(account);
    const [configured, told] = addressesOf(config, account);
    return describeAccount({ id, name: account.user, email: id }, { configured, told });
  };
  const readAll = async (signal: AbortSignal) =>
    (await database.use(signal, readAccounts)).filter((one) => accountOf(identityOf(one))).map(toIdentity);
  return {
    list: async (signal) => (await readAll(signal)).slice(0, mostListed),
    get: async (id, signal) => (await readAll(signal)).find((one) => one.id === id) ?? null,
    // The addresses are in the configuration, so the server cannot search for them.
    search: async (text, limit, signal) => searchIdentities(await readAll(signal), text, limit),
    async find({ email }, signal) {
      const name = nameOf(config, email);
      if (name === undefined) return null;
      const accounts = await database.use(signal, readAccounts);
      const found = accounts.filter(
        (one) => accountOf(identityOf(one)) && (one.user === name || identityOf(one) === name),
      );
      const [account] = found;
      // A user with accounts for several hosts is ambiguous, so no account is returned.
      return account && found.length === 1 ? { ...toIdentity(account), email } : null;
    },
  };
}

/**
 * Returns two lists of e-mail addresses of an account. First: the address in the table `users`, or those of the template when the
 * table has not exactly one. Second: the addresses of both.
 */
function addressesOf(config: MysqlConfig, account: Account): [string[], string[]] {
  const isTheirs = (name: string | undefined) => name === account.user || name === identityOf(account);
  const listed = addressesInTable({ table: config.users }, isTheirs);
  const made = addressesBehind(account.user, config.username_template, config.email_domains);
  const theirs = made.filter((one) => isTheirs(nameOf(config, one)));
  return [listed.length === 1 ? listed : theirs, [...listed, ...theirs]];
}

/** Returns the account name that the configuration gives an address; undefined when `email_domains` excludes the address. */
function nameOf(config: MysqlConfig, email: string): string | undefined {
  const listed = Object.entries(config.users).find(([address]) => isSameAddress(address, email));
  if (listed) return listed[1];
  const { username_template: template } = config;
  if (template.includes('{username}') && !isInDomains(email, config.email_domains ?? [])) return undefined;
  const [username = ''] = email.split('@');
  return template.replace('{email}', () => email).replace('{username}', () => username);
}

function readAccounts(sql: Statements): Promise<Account[]> {
  return sql.rows<Account>(
    `select user, host from accounts
     where not is_role and user <> '' and concat(user, char(64), host) <> current_user() order by user, host`,
  );
}
