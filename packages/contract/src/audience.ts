import { isSameAddress } from './address.js';
import type { Audience } from './roles.js';

interface Somebody {
  email: string;
  groups: readonly string[];
}

/**
 * Returns whether a person is in an audience. An absent audience, or one without `users` and `groups`, is everyone who
 * is signed in (docs/architecture.md, section 11); an empty list names no one.
 */
export function isInAudience(somebody: Somebody, audience: Audience | undefined): boolean {
  if (!audience || (audience.users === undefined && audience.groups === undefined)) return true;
  return isNamed(somebody, audience);
}

/**
 * Returns whether an audience names a person explicitly: the rule for approvers and delegates, where an empty audience
 * means no one.
 */
export function isNamed(somebody: Somebody, audience: Audience): boolean {
  if (audience.users?.some((user) => isSameAddress(user, somebody.email))) return true;
  return audience.groups?.some((group) => somebody.groups.includes(group)) ?? false;
}
