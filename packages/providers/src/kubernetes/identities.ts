import { foldAddress, isInDomains, isSameAddress } from '@belay/contract/address';
import { addressesBehind, addressesInTable, describeAccount } from '../identity-setting.js';
import type { Identities, ProviderIdentity } from '../port.js';
import { searchIdentities } from '../search-identities.js';
import type { KubernetesConfig } from './config.js';

/**
 * Maps people to users of the cluster. Kubernetes has no list of users: the template makes them from e-mail addresses, and others
 * are in the table of the configuration.
 */
export function createIdentities(config: KubernetesConfig): Identities {
  const known = Object.entries(config.users).map(([email, user]) => ({ id: user, name: user, email }));

  function userOf(email: string): ProviderIdentity | null {
    const listed = known.find((one) => isSameAddress(one.email, email));
    if (listed) return listed;
    const template = config.username_template;
    if (foldAddress(email) === undefined) return null;
    if (template.includes('{username}') && !isInDomains(email, config.email_domains ?? [])) return null;
    const [username = ''] = email.split('@');
    const id = template.replace('{email}', () => email).replace('{username}', () => username);
    return { id, name: id, email };
  }

  /** Returns the addresses from which the template makes this user. */
  function madeOf(id: string): string[] {
    const addresses = addressesBehind(id, config.username_template, config.email_domains);
    return addresses.filter((address) => userOf(address)?.id === id);
  }

  function describe(user: ProviderIdentity, made: readonly string[]): ProviderIdentity {
    const listed = addressesInTable<string>({ table: config.users }, (one) => one === user.id);
    return describeAccount(user, { configured: [], told: [...listed, ...made] });
  }

  async function get(id: string): Promise<ProviderIdentity | null> {
    const made = madeOf(id);
    const [only = ''] = made;
    const user = known.find((one) => one.id === id) ?? (made.length === 1 ? userOf(only) : null);
    return user && describe(user, made);
  }

  /** Returns the user for one person's address, even when the user may belong to several people. */
  function find(email: string): ProviderIdentity | null {
    const user = userOf(email);
    return user && describe(user, []);
  }

  return {
    list: async () => known,
    get,
    async search(text, limit) {
      const listed = searchIdentities(known, text, limit);
      const exact = find(text) ?? (await get(text));
      return exact && limit > 0 ? [exact, ...listed.filter((one) => one.id !== exact.id)].slice(0, limit) : listed;
    },
    find: async (person) => find(person.email),
  };
}
