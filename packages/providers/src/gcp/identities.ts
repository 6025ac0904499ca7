import { foldAddress, isInDomains, isSameAddress } from '@belay/contract/address';
import { addressesInTable, describeAccount } from '../identity-setting.js';
import type { Identities, ProviderIdentity } from '../port.js';
import { searchIdentities } from '../search-identities.js';
import type { GcpConfig } from './config.js';

/** Maps people to Google accounts: by the table of the configuration, otherwise by their e-mail address. */
export function createIdentities({ users, email_domains: domains }: GcpConfig): Identities {
  const known = Object.entries(users).map(([email, user]) => ({ id: user, name: user, email }));

  function accountOf(email: string): ProviderIdentity | null {
    const listed = known.find((one) => isSameAddress(one.email, email));
    if (listed) return describe(listed);
    const id = foldAddress(email);
    if (id === undefined || (domains && !isInDomains(email, domains))) return null;
    return describe({ id, name: id, email });
  }

  /** Returns an account with all its addresses. The id of an account is an address too. */
  function describe(account: ProviderIdentity): ProviderIdentity {
    const listed = addressesInTable<string>({ table: users }, (user) => isSameAddress(user, account.id));
    return describeAccount(account, { configured: [], told: [account.id, ...listed] });
  }

  async function get(id: string): Promise<ProviderIdentity | null> {
    const listed = known.find((one) => isSameAddress(one.id, id));
    return listed ? describe(listed) : accountOf(id);
  }

  return {
    list: async () => known,
    get,
    async search(text, limit) {
      const listed = searchIdentities(known, text, limit);
      const exact = await get(text);
      return exact && limit > 0 ? [exact, ...listed.filter((one) => one.id !== exact.id)].slice(0, limit) : listed;
    },
    find: async (person) => accountOf(person.email),
  };
}
