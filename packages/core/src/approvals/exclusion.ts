import type { approvals } from '@belay/db';
import type { Person } from '../context.js';
import { namesOf } from '../people/names.js';

/** Returns whether a person, by any of their identities, is the requester of an approval or of a review (`listSelves`). */
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
