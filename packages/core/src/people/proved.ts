import { foldAddress } from '@belay/contract/address';
import { AccessError } from '@belay/contract/errors';
import { isStorable } from '@belay/contract/text';
import type { Authenticated } from '@belay/providers';

const unseen = /[\p{C}\p{Zl}\p{Zp}]/u;
/** Longer than any that is meant for people. */
const longest = { subject: 1_000, name: 200 };

/**
 * The person that a provider proved, when what it says of them can be kept and compared: people are named by their address
 * in roles and approvals, so one that is read as another (a letter that lower case or a font turns into a different one,
 * something invisible) is nobody's. Throws `forbidden`.
 */
export function requireReadable(proved: Authenticated): Authenticated {
  const { subject, email, name, groups, organizations = [] } = proved;
  if (!proved.emailVerified || !email) {
    throw new AccessError('forbidden', 'The provider has not verified your e-mail address');
  }
  if (foldAddress(email) === undefined) {
    throw new AccessError('forbidden', 'The provider returned an e-mail address that can be confused with another one');
  }
  if (subject.length > longest.subject || [subject, ...groups, ...organizations].some((text) => !isStorable(text))) {
    throw new AccessError('forbidden', 'The provider returned a user whose data cannot be stored');
  }
  const shown = name.replace(new RegExp(`${unseen.source}+`, 'gu'), ' ').trim();
  return { ...proved, name: Array.from(shown).slice(0, longest.name).join('') };
}
