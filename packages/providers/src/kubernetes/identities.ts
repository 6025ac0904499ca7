import { foldAddress, isInDomains, isSameAddress } from '@belay/contract/address';
import { addressesBehind } from '../identity-setting.js';
import type { Identities, ProviderIdentity } from '../port.js';
import { searchIdentities } from '../search-identities.js';
import type { KubernetesConfig } from './config.js';

/**
 * Maps people to users of the cluster. Kubernetes has no list of users: one is what the template makes of an e-mail address, or
 * what the table of the configuration has.
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

  /** Returns the identity that the template makes, from the user that it made. */
  function made(id: string): ProviderIdentity | null {
    const addresses = addressesBehind(id, config.username_template, config.email_domains);
    const found = addresses.map(userOf).filter((one) => one?.id === id);
    return found.length === 1 ? (found[0] ?? null) : null;
  }

  const get = async (id: string) => known.find((one) => one.id === id) ?? made(id);
  return {
    list: async () => known,
    get,
    async search(text, limit) {
      const listed = searchIdentities(known, text, limit);
      const exact = userOf(text) ?? (await get(text));
      return exact && limit > 0 ? [exact, ...listed.filter((one) => one.id !== exact.id)].slice(0, limit) : listed;
    },
    find: async (person) => userOf(person.email),
  };
}
