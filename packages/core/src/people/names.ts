import { foldAddress, foldName } from '@belay/contract/address';
import type { Login, ProviderIdentity } from '@belay/providers';
import type { Person } from '../context.js';

export { foldAddress, foldName };

/**
 * Returns every name by which some identities of people are known: their addresses, their subjects, and their sign-ins. Access,
 * requests and exclusions are about a person when `namesOfAccount` contains one of these names.
 */
export function namesOf(selves: readonly Pick<Person, 'provider' | 'subject' | 'email'>[]): string[] {
  const names = selves.flatMap((self) => {
    const { email, subject } = self;
    return [foldName(email), foldName(subject), nameOfLogin(self)];
  });
  return [...new Set(names.filter(Boolean))];
}

/**
 * Returns the names by which an account belongs to a person, besides its name at its system: all its addresses and sign-ins. A grant on
 * the requester's own account has the requester's address instead: the account may belong to more people by its other names, but access
 * that people request for themselves belongs to them.
 */
export function namesOfAccount({ email, addresses = [], logins = [] }: ProviderIdentity): string[] {
  return [...new Set([...[email, ...addresses].filter(Boolean).map(foldName), ...logins.map(nameOfLogin)])];
}

/** Returns the address by which an audience of the configuration names a person: the one that they have now; empty if it cannot be compared. */
export function addressNaming({ email }: Pick<Person, 'email'>): string {
  return foldAddress(email) ?? '';
}

/** Returns whether an address is the one that a person has now. */
export function hasAddress(person: Pick<Person, 'email'>, address: string): boolean {
  const own = addressNaming(person);
  return own !== '' && own === foldAddress(address);
}

/** Returns whether an account of a system has this id or address there. */
export function isAccountNamed({ id, email }: Pick<ProviderIdentity, 'id' | 'email'>, name: string): boolean {
  return id === name || hasAddress({ email }, name);
}

/** Returns the name of a sign-in, or of a user of a chat, in a form that no address and no subject has. */
export function nameOfLogin({ provider, subject }: Login): string {
  return JSON.stringify([provider, subject]);
}
