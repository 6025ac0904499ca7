import { isSameAddress } from './address.js';
import type { Audience } from './roles.js';

interface Somebody {
  email: string;
  groups: readonly string[];
}

/** Whether an audience names somebody. One that names nobody at all is everyone who is signed in (docs/architecture.md, section 11). */
export function isInAudience(somebody: Somebody, audience: Audience | undefined): boolean {
  if (!audience || (audience.users === undefined && audience.groups === undefined)) return true;
  return isNamed(somebody, audience);
}

/** Whether an audience names somebody expressly: the rule for approvers and delegates, where silence is refusal. */
export function isNamed(somebody: Somebody, audience: Audience): boolean {
  if (audience.users?.some((user) => isSameAddress(user, somebody.email))) return true;
  return audience.groups?.some((group) => somebody.groups.includes(group)) ?? false;
}
