import { isInDomains, isSameAddress } from '@belay/contract/address';
import { addressesInTable, describeAccount } from '../identity-setting.js';
import { type Identities, mostListed, type Person, type ProviderIdentity } from '../port.js';
import { type Api, condition, type User } from './api.js';
import type { OktaConfig } from './config.js';
import { isName } from './plan.js';
import { findOne, findUser } from './subject.js';

/** Maps people to Okta users, whose identity is their login. */
export function createIdentities({ identity, email_domains: domains }: OktaConfig, api: Api): Identities {
  const isListed = (user: User) => (login: string) => login.toLowerCase() === user.profile.login.toLowerCase();
  /** Returns a user as an identity. A single address in the configured table takes precedence over the one at Okta. */
  const present = (user: User): ProviderIdentity => {
    const { login: id, email, firstName, lastName } = user.profile;
    const name = [firstName, lastName].filter(Boolean).join(' ') || id;
    const configured = addressesInTable(identity, isListed(user));
    const account = { id, name, email: email ?? '' };
    return describeAccount(account, { configured, told: [account.email, id], identity, subject: user.id });
  };
  const byEmail = (email: string, signal: AbortSignal) =>
    findOne(api, 'profile.email', email, (user) => isSameAddress(user.profile.email ?? '', email), signal);

  async function findPerson({ email, logins = [] }: Person, signal: AbortSignal): Promise<User | null> {
    if (identity === 'email') return domains && !isInDomains(email, domains) ? null : byEmail(email, signal);
    if ('table' in identity) {
      const login = Object.entries(identity.table).find(([address]) => isSameAddress(address, email))?.[1];
      return login === undefined ? null : findUser(api, login, signal);
    }
    const linked = new Set(
      logins.filter(({ provider }) => identity.login.includes(provider)).map((one) => one.subject),
    );
    const [subject = ''] = linked;
    if (linked.size !== 1 || !isName(subject)) return null;
    const user = await api.user(subject, signal);
    // This endpoint also finds users by login, and the subject must not be taken for a login.
    return user?.id === subject ? user : null;
  }

  return {
    ...(typeof identity === 'object' && 'login' in identity ? { byLogin: true } : {}),
    async list(signal) {
      const users: ProviderIdentity[] = [];
      for await (const user of api.users({}, signal)) {
        users.push(present(user));
        if (users.length === mostListed) break;
      }
      return users;
    },
    async get(id, signal) {
      const user = await findUser(api, id, signal);
      return user && present(user);
    },
    async search(text, limit, signal) {
      if (!isName(text) || limit < 1) return [];
      const found = new Map<string, ProviderIdentity>();
      const exact = ['profile.login', 'profile.email'].map((name) => condition(name, 'eq', text)).join(' or ');
      const properties = ['login', 'email', 'firstName', 'lastName', 'displayName'];
      const alike = properties.map((name) => condition(`profile.${name}`, 'sw', text)).join(' or ');
      for (const query of [{ filter: exact }, { search: alike }]) {
        for await (const user of api.users(query, signal)) {
          if (!found.has(user.id)) found.set(user.id, present(user));
          if (found.size === limit) return [...found.values()];
        }
      }
      return [...found.values()];
    },
    async find(person, signal) {
      const user = await findPerson(person, signal);
      return user && present(user);
    },
  };
}
