import type { Answer } from '../support/fake-server.js';
import { refusal, type User } from './policies.js';

interface MembershipRole {
  name: string;
  expiryDetail?: { expireTime: string };
}

export interface Group {
  id: string;
  email: string;
  /** Its other addresses. */
  aliases?: string[];
  labels: Record<string, string>;
  /** The members' roles, by the identifier of the account. */
  members: Map<string, MembershipRole[]>;
}

export interface GroupWorld {
  now(): number;
  users: User[];
  groups: Group[];
  /** Whether the edition supports memberships with an end. */
  ends: boolean;
  /** When set, a call returns before its change is made, and the change is put here. */
  putOff?: (() => void)[] | undefined;
}

interface Request {
  method: string;
  url: URL;
  body: unknown;
}

const discussion = 'cloudidentity.googleapis.com/groups.discussion_forum';
const denied = refusal(403, 'PERMISSION_DENIED', 'Permission denied for resource (or it may not exist)');
const missing = refusal(404, 'NOT_FOUND');
const ok = (body: unknown): Answer => ({ status: 200, body });

export function createGroup(id: string, email: string, kind?: 'dynamic' | 'locked'): Group {
  const labels = { [discussion]: '', ...(kind && { [`cloudidentity.googleapis.com/groups.${kind}`]: '' }) };
  return { id, email, labels, members: new Map() };
}

/** Serves Cloud Identity: groups and memberships, with ends if the edition supports them. */
export function answerGroups({ method, url, body }: Request, world: GroupWorld): Answer | undefined {
  for (const group of world.groups) forgetOver(group, world.now());
  if (url.pathname === '/v1/groups:lookup') {
    const found = world.groups.find((one) => isCalled(one, url.searchParams.get('groupKey.id') ?? ''));
    return found ? ok({ name: `groups/${found.id}` }) : denied;
  }
  const [, id, rest = ''] = /^\/v1\/groups\/([^/:]+)(.*)$/.exec(url.pathname) ?? [];
  if (id === undefined) return undefined;
  const group = world.groups.find((one) => one.id === id);
  if (!group) return denied;
  if (rest === '') return ok({ name: `groups/${id}`, groupKey: { id: group.email }, labels: group.labels });
  if (rest === '/memberships:lookup') {
    const user = findUser(world.users, url.searchParams.get('memberKey.id'));
    return user && group.members.has(user.id) ? ok({ name: `groups/${id}/memberships/${user.id}` }) : missing;
  }
  if (rest === '/memberships') {
    return method === 'POST' ? add(group, body as NewMember, world) : listPage(group, url.searchParams, world.users);
  }
  const [, member = '', verb] = /^\/memberships\/([^/:]+)(?::(\w+))?$/.exec(rest) ?? [];
  if (!group.members.has(member)) return missing;
  if (verb === 'modifyMembershipRoles') return extend(group, member, body as NewEnd, world);
  if (method === 'DELETE') return carryOut(world, () => void group.members.delete(member));
  return ok(show(group, member, world.users));
}

/** Serves the Directory API: accounts and groups by identifier or e-mail address. */
export function answerDirectory({ url }: Request, { users, groups }: GroupWorld): Answer | undefined {
  const [, kind, key = ''] = /^\/admin\/directory\/v1\/(users|groups)\/([^/]+)$/.exec(url.pathname) ?? [];
  const wanted = decodeURIComponent(key);
  if (kind === 'users') {
    const user = users.find((one) => !one.deleted && [one.id, one.email].includes(wanted));
    return user ? ok({ id: user.id, primaryEmail: user.email }) : missing;
  }
  if (kind !== 'groups') return undefined;
  const group = groups.find((one) => one.id === wanted || isCalled(one, wanted));
  if (!group) return missing;
  const { id, email, aliases } = group;
  return ok({ id, email, ...(aliases && { aliases, nonEditableAliases: [`${email}.test-google-a.com`] }) });
}

function isCalled({ email, aliases = [] }: Group, address: string): boolean {
  return [email, ...aliases].includes(address);
}

interface NewMember {
  preferredMemberKey: { id: string };
  roles: MembershipRole[];
}

function add(group: Group, { preferredMemberKey, roles }: NewMember, world: GroupWorld): Answer {
  const user = findUser(world.users, preferredMemberKey.id);
  if (!user) return missing;
  if (group.members.has(user.id)) return refusal(409, 'ALREADY_EXISTS');
  if (Object.keys(group.labels).some((label) => /dynamic|locked/.test(label)))
    return refusal(400, 'FAILED_PRECONDITION');
  if (!isAcceptable(roles, world)) return refusal(400, 'INVALID_ARGUMENT');
  return carryOut(world, () => void group.members.set(user.id, roles));
}

function isAcceptable(roles: readonly MembershipRole[], { ends, now }: GroupWorld): boolean {
  return roles.every(
    ({ name, expiryDetail }) =>
      !expiryDetail || (ends && name === 'MEMBER' && Date.parse(expiryDetail.expireTime) > now()),
  );
}

interface NewEnd {
  updateRolesParams: { fieldMask: string; membershipRole: MembershipRole }[];
}

function extend(group: Group, member: string, { updateRolesParams }: NewEnd, world: GroupWorld): Answer {
  const roles = updateRolesParams.map(({ membershipRole }) => membershipRole);
  if (!isAcceptable(roles, world)) return refusal(400, 'INVALID_ARGUMENT');
  const others = (group.members.get(member) ?? []).filter(({ name }) => !roles.some((one) => one.name === name));
  group.members.set(member, [...others, ...roles]);
  return ok({ membership: show(group, member, world.users) });
}

function carryOut({ putOff }: GroupWorld, change: () => void): Answer {
  if (putOff) putOff.push(change);
  else change();
  return ok({ done: putOff === undefined });
}

function listPage(group: Group, query: URLSearchParams, users: readonly User[]): Answer {
  const size = Math.min(Number(query.get('pageSize') ?? 50), query.get('view') === 'FULL' ? 500 : 1_000);
  const from = Number(query.get('pageToken') ?? 0);
  const all = [...group.members.keys()];
  const more = from + size < all.length ? { nextPageToken: String(from + size) } : {};
  return ok({ memberships: all.slice(from, from + size).map((member) => show(group, member, users)), ...more });
}

function show(group: Group, member: string, users: readonly User[]) {
  const email = users.find(({ id }) => id === member)?.email ?? '';
  return {
    name: `groups/${group.id}/memberships/${member}`,
    type: 'USER',
    preferredMemberKey: { id: email },
    roles: group.members.get(member),
  };
}

function forgetOver(group: Group, now: number): void {
  for (const [member, roles] of group.members) {
    const isOver = roles.some(({ expiryDetail }) => expiryDetail && Date.parse(expiryDetail.expireTime) <= now);
    if (isOver) group.members.delete(member);
  }
}

function findUser(users: readonly User[], email: string | null): User | undefined {
  return users.find((one) => one.email === email && !one.deleted);
}
