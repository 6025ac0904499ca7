import { foldAddress } from '@belay/contract/address';
import { AccessError } from '@belay/contract/errors';
import { isStorable, withoutUnseen } from '@belay/contract/text';
import type { Authenticated } from '@belay/providers';
import type { Person } from '../context.js';

/** The identity that a provider proved, before its person is known; with the provider's own names of groups. */
export interface ProvedIdentity extends Omit<Person, 'id'> {
  /** Absent when the provider does not distinguish them from groups. */
  organizations?: string[] | undefined;
  /** Who issued the subject, if the provider states it. */
  issuer?: string | undefined;
}

/** The maximum length of a text about a person, in characters: real ones are shorter. */
const longest = { subject: 1_000, name: 200 };

/**
 * Returns the person that a provider proved, when their data can be stored and compared. Roles and approvals name people by their address,
 * so an address that can be read as another one (a letter that lower case or a font changes, an invisible character) is rejected. A person
 * whose groups the provider left out is rejected too, because they must count neither as empty nor as unchanged. Throws `forbidden`.
 */
export function requireReadable(proved: Authenticated): Authenticated {
  const { subject, email, name, groups, organizations = [] } = proved;
  if (!proved.emailVerified || !email) {
    throw new AccessError('forbidden', 'The provider has not verified your e-mail address');
  }
  if (foldAddress(email) === undefined) {
    throw new AccessError('forbidden', 'The provider returned an e-mail address that can be confused with another one');
  }
  if (proved.groupsLeftOut === true) {
    throw new AccessError('forbidden', 'The provider left out your groups, because you are in too many of them');
  }
  if (subject.length > longest.subject || [subject, ...groups, ...organizations].some((text) => !isStorable(text))) {
    throw new AccessError('forbidden', 'The provider returned a user whose data cannot be stored');
  }
  const shown = withoutUnseen(name).trim();
  return { ...proved, name: Array.from(shown).slice(0, longest.name).join('') };
}
