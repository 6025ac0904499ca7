import type { Api, User } from './api.js';
import { equal, isName } from './names.js';

/** Returns the account with this user principal name, or null. */
export async function findUser(api: Api, name: string, signal: AbortSignal): Promise<User | null> {
  if (!isName(name)) return null;
  for await (const user of api.users(equal('userPrincipalName', name), signal)) {
    if (user.userPrincipalName.toLowerCase() === name.toLowerCase()) return user;
  }
  return null;
}

/** Returns why an account may be granted nothing, or undefined. */
export function faultOfUser(user: User, allowsGuests: boolean): string | undefined {
  if (user.accountEnabled === false) return 'The account is disabled at Entra';
  const isGuest = user.userType?.toLowerCase() === 'guest' || /#EXT#@/i.test(user.userPrincipalName);
  if (isGuest && !allowsGuests) return 'The account is a guest, and allow_guests is not set for this provider';
  return undefined;
}
