import { foldAddress } from '@belay/contract/address';
import type { approvals } from '@belay/db';
import type { Person } from '../context.js';

/**
 * Returns how the name of an identity is compared with those that an approval excludes: as an address where it is one, else
 * in lower case. Too many excluded is safe.
 */
export function foldName(name: string): string {
  return foldAddress(name) ?? name.toLowerCase();
}

/** Returns every name that a person goes by at their providers, as exclusions compare them. */
export function namesOf(selves: readonly Person[]): string[] {
  return [...new Set(selves.flatMap(({ email, subject }) => [foldName(email), foldName(subject)]))];
}

/** Whether a person, by any of their identities, asked for what an approval is about. */
export function isRequester(selves: readonly Person[], approval: { ownerId: string }): boolean {
  return selves.some(({ id }) => id === approval.ownerId);
}

/** Whether an approval names a person, by any of their identities, as one who would be elevated or who asked. */
export function isExcluded(
  selves: readonly Person[],
  { excluded }: Pick<typeof approvals.$inferSelect, 'excluded'>,
): boolean {
  const names = namesOf(selves);
  return excluded.some((name) => names.includes(name));
}
