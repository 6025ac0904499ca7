import { foldAddress } from '@belay/contract/address';
import type { approvals } from '@belay/db';
import type { Person } from '../context.js';

/**
 * Returns how the name of an identity is compared with the names that an approval excludes: an address as an address,
 * any other name in lower case. Excluding too many is safe.
 */
export function foldName(name: string): string {
  return foldAddress(name) ?? name.toLowerCase();
}

/** Returns every name that a person has at their providers, as exclusions compare them. */
export function namesOf(selves: readonly Person[]): string[] {
  return [...new Set(selves.flatMap(({ email, subject }) => [foldName(email), foldName(subject)]))];
}

/** Returns whether a person, by any of their identities, is the requester of what an approval is about. */
export function isRequester(selves: readonly Person[], approval: { ownerId: string }): boolean {
  return selves.some(({ id }) => id === approval.ownerId);
}

/**
 * Returns whether an approval names a person, by any of their identities, as the requester or a person to be elevated.
 */
export function isExcluded(
  selves: readonly Person[],
  { excluded }: Pick<typeof approvals.$inferSelect, 'excluded'>,
): boolean {
  const names = namesOf(selves);
  return excluded.some((name) => names.includes(name));
}
