import { isInDomains, isSameAddress } from '@belay/contract/address';
import { addressesInTable, describeAccount } from '../identity-setting.js';
import { type Identities, mostListed, type Person, type ProviderIdentity } from '../port.js';
import type { Api, User } from './api.js';
import type { EntraConfig } from './config.js';
import { equal, isGuid, isName } from './names.js';

/** Maps people to accounts of Entra, which are identified by their user principal names. */
export function createIdentities(config: EntraConfig, api: Api): Identities {
  const { identity, email_domains: domains } = config;
  const isListed = (user: User) => (name: string) => name.toLowerCase() === user.userPrincipalName.toLowerCase();
  /** Returns an account. An address in the configuration's table comes first: Entra may have another address, or no address. */
  const present = (user: User): ProviderIdentity => {
    const { id: subject, userPrincipalName: id, displayName, mail } = user;
    const account = { id, name: displayName || id, email: mail || id };
    return describeAccount(account, {
      configured: addressesInTable(identity, isListed(user)),
      told: [mail ?? '', id],
      identity,
      subject,
    });
  };
  const isUsable = (user: User) => faultOfUser(user, config.allow_guests) === undefined;

  /** Returns null when two accounts have the address, even when only one can be used: choosing one would be a guess. */
  async function byEmail(email: string, signal: AbortSignal): Promise<User | null> {
    if (!isName(email)) return null;
    const found = new Map<string, User>();
    const filter = `${equal('mail', email)} or ${equal('userPrincipalName', email)}`;
    for await (const user of api.users(filter, signal)) {
      if ([user.mail ?? '', user.userPrincipalName].some((one) => isSameAddress(one, email))) found.set(user.id, user);
    }
    const [only] = found.values();
    return found.size === 1 && only ? only : null;
  }

  async function findPerson({ email, logins = [] }: Person, signal: AbortSignal): Promise<User | null> {
    if (identity === 'email') return domains && !isInDomains(email, domains) ? null : byEmail(email, signal);
    if ('table' in identity) {
      const name = Object.entries(identity.table).find(([address]) => isSameAddress(address, email))?.[1];
      return name === undefined ? null : findUser(api, name, signal);
    }
    const linked = new Set(
      logins.filter(({ provider }) => identity.login.includes(provider)).map((one) => one.subject),
    );
    const [subject = ''] = linked;
    // Entra would also find an account by its name here, so the subject must be an identifier.
    return linked.size === 1 && isGuid(subject) ? api.user(subject, signal) : null;
  }

  async function take(users: AsyncIterable<User>, into: Map<string, ProviderIdentity>, most: number): Promise<void> {
    for await (const user of users) {
      if (into.size >= most) return;
      if (isUsable(user)) into.set(user.id, present(user));
    }
  }

  return {
    ...(typeof identity === 'object' && 'login' in identity ? { byLogin: true } : {}),
    async list(signal) {
      const found = new Map<string, ProviderIdentity>();
      await take(api.users(undefined, signal), found, mostListed);
      return [...found.values()];
    },
    async get(id, signal) {
      const user = await findUser(api, id, signal);
      return user && isUsable(user) ? present(user) : null;
    },
    async search(text, limit, signal) {
      if (!isName(text) || limit < 1) return [];
      const found = new Map<string, ProviderIdentity>();
      const exact = ['mail', 'userPrincipalName'].map((name) => equal(name, text)).join(' or ');
      const quoted = text.replaceAll("'", "''");
      const names = ['displayName', 'givenName', 'surname', 'mail', 'userPrincipalName'];
      const alike = names.map((name) => `startswith(${name},'${quoted}')`).join(' or ');
      for (const filter of [exact, alike]) await take(api.users(filter, signal), found, limit);
      return [...found.values()];
    },
    async find(person, signal) {
      const user = await findPerson(person, signal);
      return user && isUsable(user) ? present(user) : null;
    },
  };
}

/** Returns the account with this user principal name, or null. */
export async function findUser(api: Api, name: string, signal: AbortSignal): Promise<User | null> {
  if (!isName(name)) return null;
  for await (const user of api.users(equal('userPrincipalName', name), signal)) {
    if (user.userPrincipalName.toLowerCase() === name.toLowerCase()) return user;
  }
  return null;
}

/** Returns why no access may be granted to an account, or undefined. */
export function faultOfUser(user: User, allowsGuests: boolean): string | undefined {
  if (user.accountEnabled === false) return 'The account is disabled at Entra';
  const isGuest = user.userType?.toLowerCase() === 'guest' || /#EXT#@/i.test(user.userPrincipalName);
  if (isGuest && !allowsGuests) return 'The account is a guest, and allow_guests is not set for this provider';
  return undefined;
}
