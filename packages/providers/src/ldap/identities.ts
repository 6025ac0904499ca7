import { isInDomains, isSameAddress } from '@belay/contract/address';
import { addressesBehind, addressesInTable, describeAccount } from '../identity-setting.js';
import { type Identities, mostListed, type Person, type ProviderIdentity } from '../port.js';
import { dialectOf, type LdapConfig } from './config.js';
import type { Condition, Directory, Entry, Session } from './session.js';
import { findPerson } from './subject.js';

/** Reads the people below `people_base` as identities; the identifier of an identity is its distinguished name. */
export function createIdentities(config: LdapConfig, directory: Directory): Identities {
  const { login, people } = dialectOf(config);
  const attributes = [login, config.email_attribute, 'displayName', 'cn'];
  const isListed = (entry: Entry) => (name: string) =>
    entry.texts(login).some((one) => one.toLowerCase() === name.toLowerCase());
  /** Returns the addresses that the configuration has for an entry. The directory may have others, or no address. */
  const configuredFor = (entry: Entry): string[] =>
    config.identity === 'username'
      ? entry.texts(login).flatMap((name) => addressesBehind(name, '{username}', config.email_domains))
      : addressesInTable(config.identity, isListed(entry));
  const toIdentity = (entry: Entry): ProviderIdentity => {
    const told = entry.texts(config.email_attribute);
    const name = entry.texts('displayName')[0] ?? entry.texts('cn')[0] ?? entry.dn;
    return describeAccount({ id: entry.dn, name, email: told[0] ?? '' }, { configured: configuredFor(entry), told });
  };
  const read = (session: Session, condition: Condition, most: number) =>
    session.find(config.people_base, { all: [{ filter: people }, condition] }, attributes, most);
  /** Returns null when two entries have the value, because choosing one would be a guess. */
  const findOne = async (session: Session, attribute: string, value: string, isSame: (found: string) => boolean) => {
    const found = await read(session, { is: attribute, value }, 2);
    const [entry] = found;
    return found.length === 1 && entry?.texts(attribute).some(isSame) ? entry : null;
  };
  return {
    list: (signal) =>
      directory.call(signal, async (session) => {
        const listed: ProviderIdentity[] = [];
        for await (const page of session.pages(config.people_base, { filter: people }, attributes)) {
          listed.push(...page.map(toIdentity));
          if (listed.length >= mostListed) break;
        }
        return listed.slice(0, mostListed);
      }),
    get: (id, signal) =>
      directory.call(signal, async (session) => {
        const found = await findPerson(session, config, id, attributes);
        return found && toIdentity(found);
      }),
    search: (text, limit, signal) =>
      directory.call(signal, async (session) => {
        if (text === '') return [];
        const fields = [config.email_attribute, login, 'displayName', 'cn'];
        const exact = await read(session, { any: fields.map((is) => ({ is, value: text })) }, limit);
        const named = await findPerson(session, config, text, attributes);
        const like = await read(session, { any: fields.map((has) => ({ has, text })) }, limit);
        const all = [...(named ? [named] : []), ...exact, ...like].map((entry) => [entry.dn, entry] as const);
        return [...new Map(all).values()].slice(0, limit).map(toIdentity);
      }),
    find: (person, signal) =>
      directory.call(signal, async (session) => {
        const name = loginOf(config, person);
        const found =
          config.identity === 'email'
            ? await findOne(session, config.email_attribute, person.email, (one) => isSameAddress(one, person.email))
            : name === undefined
              ? null
              : await findOne(session, login, name, (one) => one.toLowerCase() === name.toLowerCase());
        return found && { ...toIdentity(found), email: person.email };
      }),
  };
}

/** Returns the login that the `identity` setting gives a person, or undefined. */
function loginOf(config: LdapConfig, { email }: Person): string | undefined {
  if (typeof config.identity === 'object') {
    const entries = Object.entries(config.identity.table);
    return entries.find(([address]) => isSameAddress(address, email))?.[1];
  }
  return isInDomains(email, config.email_domains ?? []) ? email.split('@')[0] : undefined;
}
