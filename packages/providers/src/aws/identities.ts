import { isSameAddress } from '@belay/contract/address';
import { describeAccount } from '../identity-setting.js';
import { type Identities, mostListed, type ProviderIdentity } from '../port.js';
import { searchIdentities } from '../search-identities.js';
import type { AwsConfig } from './config.js';
import type { Directory, User } from './directory.js';

/** Lists the users of the identity store by their user names. */
export function createIdentities(config: AwsConfig, directory: Directory): Identities {
  const toIdentity = ({ name, displayName, emails }: User): ProviderIdentity =>
    describeAccount(
      { id: name, name: displayName, email: emails[0] ?? name },
      { configured: [], told: [...emails, name] },
    );

  async function findBy(attribute: 'userName' | 'emails.value', value: string, signal: AbortSignal) {
    const id = await directory.findUser(attribute, value, signal);
    return id === null ? null : directory.user(id, signal);
  }

  async function readSome(signal: AbortSignal): Promise<ProviderIdentity[]> {
    const found: ProviderIdentity[] = [];
    for await (const user of directory.users(signal)) {
      found.push(toIdentity(user));
      if (found.length === mostListed) break;
    }
    return found;
  }

  return {
    list: readSome,

    async get(name, signal) {
      const user = await findBy('userName', name, signal);
      return user && toIdentity(user);
    },

    // AWS finds users by their whole name or address only, so users that contain the text are searched among the first users.
    async search(text, limit, signal) {
      const exact = await Promise.all([findBy('userName', text, signal), findBy('emails.value', text, signal)]);
      const found = [...exact.flatMap((user) => (user ? [toIdentity(user)] : [])), ...(await readSome(signal))];
      const unique = new Map(found.map((identity) => [identity.id, identity]));
      return searchIdentities([...unique.values()], text, limit);
    },

    async find({ email }, signal) {
      const user = await findBy(config.identity === 'email' ? 'emails.value' : 'userName', email, signal);
      if (!user) return null;
      // AWS may compare differently: only a user who has this address is the person.
      const names = config.identity === 'email' ? user.emails : [user.name];
      return names.some((name) => isSameAddress(name, email)) ? { ...toIdentity(user), email } : null;
    },
  };
}
