import { foldAddress } from '@belay/contract/address';
import type { Login, ProviderIdentity } from '@belay/providers';
import type { Person } from '../context.js';

/**
 * Returns how the name of a person or an account is compared: an address as an address, any other name in lower case.
 */
export function foldName(name: string): string {
  return foldAddress(name) ?? name.toLowerCase();
}

/**
 * Returns every name that a person has at their providers: their addresses, their subjects, and their sign-ins. Access, requests
 * and exclusions are about a person when one of these names is among those of `namesOfAccount`.
 */
export function namesOf(selves: readonly Pick<Person, 'provider' | 'subject' | 'email'>[]): string[] {
  const names = selves.flatMap((self) => {
    const { email, subject } = self;
    return [foldName(email), email.toLowerCase(), foldName(subject), subject.toLowerCase(), nameOfLogin(self)];
  });
  return [...new Set(names)];
}

/**
 * Returns the names by which an account is that of a person, beside what its system calls it: every address and every sign-in
 * whose account it is. Of the requester's own account only their address: by the others it may be that of more people, and what a person
 * requests for themselves is theirs.
 */
export function namesOfAccount(account: ProviderIdentity, { own }: { own: boolean }): string[] {
  const { email, addresses = [], logins = [] } = account;
  const names = [email, ...(own ? [] : addresses)].filter(Boolean).map(foldName);
  return [...new Set([...names, ...(own ? [] : logins.map(nameOfLogin))])];
}

/** Returns the name of a sign-in, which no address and no subject can be. */
function nameOfLogin({ provider, subject }: Login): string {
  return JSON.stringify([provider, subject]);
}
