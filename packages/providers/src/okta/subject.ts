import { z } from 'zod';
import { OtherTarget, Terminal } from '../errors.js';
import type { Entitlement, Named } from '../port.js';
import { type Api, condition, type Group, type User } from './api.js';
import { isName } from './plan.js';

const membership = z.strictObject({ group: z.string().min(1) });
const subjectSchema = z.strictObject({ group: z.string().min(1), user: z.string().min(1) });

/** An entitlement in Okta's identifiers, which do not change when a group or a user is renamed. */
export type Subject = z.infer<typeof subjectSchema>;

/** Returns the group and the user of an entitlement. Throws `OtherTarget` when it is pinned in another organization. */
export async function readPin(api: Api, { pin }: Entitlement, signal: AbortSignal): Promise<Subject> {
  if (pin.target !== (await api.organization(signal))) throw new OtherTarget();
  const subject = subjectSchema.safeParse(pin.subject);
  if (!subject.success) throw new Terminal('The stored identifiers are not those of a group and a user at Okta');
  return subject.data;
}

/** Returns the pin of the group and the user with these names, or null. */
export async function resolve(api: Api, { identity, access }: Named, signal: AbortSignal) {
  const named = membership.safeParse(access);
  if (!named.success) throw new Terminal('The access is not membership of a group');
  const target = await api.organization(signal);
  const [group, user] = [await findGroup(api, named.data.group, signal), await findUser(api, identity, signal)];
  return group && user && { target, subject: { group: group.id, user: user.id } };
}

/**
 * Returns the group with exactly this name. Names of Okta's own groups are unique. An application's group with the same name is
 * returned only when Okta has no such group of its own, so that the caller can reject it with the right reason.
 */
export async function findGroup(api: Api, name: string, signal: AbortSignal): Promise<Group | null> {
  if (!isName(name)) return null;
  const found: Group[] = [];
  for await (const group of api.groups({ search: condition('profile.name', 'eq', name) }, signal)) {
    if (group.profile.name === name) found.push(group);
  }
  return found.find(({ type }) => type === 'OKTA_GROUP') ?? found[0] ?? null;
}

/** Returns the user with this login. Upper and lower case are the same in a login. */
export async function findUser(api: Api, login: string, signal: AbortSignal): Promise<User | null> {
  const isSame = (user: User) => user.profile.login.toLowerCase() === login.toLowerCase();
  return findOne(api, 'profile.login', login, isSame, signal);
}

/** Returns the user whose property has this value; null when no user or several users match. */
export async function findOne(
  api: Api,
  property: 'profile.login' | 'profile.email',
  value: string,
  isSame: (user: User) => boolean,
  signal: AbortSignal,
): Promise<User | null> {
  if (!isName(value)) return null;
  const found: User[] = [];
  for await (const user of api.users({ filter: condition(property, 'eq', value) }, signal)) {
    if (isSame(user)) found.push(user);
  }
  return found.length === 1 ? (found[0] ?? null) : null;
}
