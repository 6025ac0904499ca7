import { planRoles } from '../plan-roles.js';
import type { AccessRequest, Plan } from '../port.js';

const prefix = 'group/';

/** Returns one access, a membership, for each requested group. Returns all errors together; never throws. */
export function planMemberships(_config: unknown, request: AccessRequest): Plan {
  return planRoles(request, {
    rolesOnly: 'Okta access is membership of groups: assign the applications to a group and inherit group/<name>',
    atLeastOne: 'must name at least one group',
    faultOf,
    accessOf: (role) => ({ group: role.slice(prefix.length) }),
  });
}

function faultOf(role: string): string | undefined {
  if (!role.startsWith(prefix) || role === prefix) return 'must be group/<name>, for example group/Shop production';
  if (!isName(role.slice(prefix.length)))
    return 'is not the name of a group: 1 to 255 characters without control characters';
  return undefined;
}

/** Returns whether this text can be a name at Okta. No other text is sent in a search. */
export function isName(text: string): boolean {
  return text.length <= 255 && text.trim() === text && text !== '' && !/\p{Cc}|\p{Surrogate}/u.test(text);
}
