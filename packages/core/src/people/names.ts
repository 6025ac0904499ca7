import { foldAddress } from '@belay/contract/address';
import type { Login, ProviderIdentity } from '@belay/providers';
import type { Person } from '../context.js';

/**
 * Returns the name of a person or an account in the form that is compared: addresses folded, other names in lower case.
 */
export function foldName(name: string): string {
  return foldAddress(name) ?? name.toLowerCase();
}

/**
 * Returns every name that a person has at their providers: their addresses, their subjects, and their sign-ins. Access,
 * requests and exclusions are about a person when `namesOfAccount` contains one of these names.
 */
export function namesOf(selves: readonly Pick<Person, 'provider' | 'subject' | 'email'>[]): string[] {
  const names = selves.flatMap((self) => {
    const { email, subject } = self;
    return [foldName(email), email.toLowerCase(), foldName(subject), subject.toLowerCase(), nameOfLogin(self)];
  });
  return [...new Set(names)];
}

/**
 * Returns the names by which an account belongs to a person, besides its name at its system: all its addresses and sign-ins. A grant on
 * the requester's own account has the requester's address instead: the account may belong to more people by its other names, but access
 * that people request for themselves belongs to them.
 */
export function namesOfAccount({ email, addresses = [], logins = [] }: ProviderIdentity): string[] {
  return [...new Set([...[email, ...addresses].filter(Boolean).map(foldName), ...logins.map(nameOfLogin)])];
}

/** Returns the name of a sign-in, in a form that no address and no subject has. */
function nameOfLogin({ provider, subject }: Login): string {
  return JSON.stringify([provider, subject]);
}
