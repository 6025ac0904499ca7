import { randomUUID } from 'node:crypto';
import type { Answer } from '../support/fake-server.js';
import type { Timeline } from './timeline.js';

export interface Account {
  id: string;
  userPrincipalName: string;
  displayName: string;
  mail: string | null;
  accountEnabled: boolean;
  userType: 'Member' | 'Guest';
}

export interface Group {
  id: string;
  displayName: string;
  groupTypes: string[];
  securityEnabled: boolean;
  mailEnabled: boolean;
  membershipRule: string | null;
  onPremisesSyncEnabled: boolean | null;
  isAssignableToRole: boolean | null;
  visibility: string | null;
}

export type PlaceName = 'group' | 'directory' | 'azure';

/** What identifies an assignment: its group or role, its scope, and its user. */
export interface Key {
  place: PlaceName;
  what: string;
  scope: string;
  user: string;
}

export interface Schedule extends Key {
  addedAt: number;
  end: number | undefined;
  removedAt?: number;
}

export interface ScheduleRequest extends Key {
  id: string;
  action: string;
  status: string;
  justification: string;
  createdAt: number;
  apply(): void;
}

export interface AzureAssignment {
  name: string;
  scope: string;
  roleDefinitionId: string;
  principalId: string;
  principalType: string;
  description?: string | undefined;
}

export interface DirectoryRole {
  id: string;
  displayName: string;
  isEnabled: boolean;
  rolePermissions: { allowedResourceActions: string[] }[];
}

export interface AzureRole {
  id: string;
  roleName: string;
  actions: string[];
  notActions: string[];
}

/** A tenant and its subscriptions, as Entra and Azure know them. */
export interface World {
  url: string;
  now(): number;
  /** How far reads of memberships and schedules are behind, in milliseconds. */
  lag: number;
  users: Map<string, Account>;
  groups: Map<string, Group>;
  directoryRoles: Map<string, DirectoryRole>;
  azureRoles: Map<string, AzureRole>;
  /** Scopes that exist, in lower case. */
  scopes: Set<string>;
  members: Timeline;
  directoryAssignments: Timeline;
  azureAssignments: Map<string, AzureAssignment>;
  schedules: Schedule[];
  requests: ScheduleRequest[];
  /** Whether the tenant has Privileged Identity Management. */
  licensed: boolean;
  /** The longest assignment that its policies permit, in milliseconds. */
  longest: number;
  /** Whether assignments cannot be removed in their first five minutes. Off by default, because the clock of most tests stands still. */
  keepsFiveMinutes: boolean;
  /** The users whose requests stay open until a test applies them. */
  putOff: Set<string>;
  /** Application permissions at Graph. */
  permissions: Set<string>;
  /** What the app may do in Azure. */
  azureActions: Set<string>;
}

export interface Request {
  method: string;
  url: URL;
  headers: Record<string, unknown>;
  body: Record<string, unknown>;
}

/** Returns a rejection in the form of Graph and of Azure. */
export function refusal(status: number, code: string, message = 'no'): Answer {
  const innerError = { date: '2026-11-23T00:00:00', 'request-id': randomUUID(), 'client-request-id': randomUUID() };
  return { status, body: { error: { code, message, innerError } } };
}

export const denied = () =>
  refusal(403, 'Authorization_RequestDenied', 'Insufficient privileges to complete the operation.');
export const missing = (id: string) =>
  refusal(
    404,
    'Request_ResourceNotFound',
    `Resource '${id}' does not exist or one of its queried reference-property objects are not present.`,
  );
export const ok = (body: unknown): Answer => ({ status: 200, body });
export const done: Answer = { status: 204, body: '' };

/** Returns one page of a list, with the address of the next page. */
export function page(world: World, url: URL, items: unknown[], { most = 999, link = '@odata.nextLink' } = {}): Answer {
  const size = Math.min(Number(url.searchParams.get('$top') ?? 100), most);
  const from = Number(url.searchParams.get('$skiptoken') ?? 0);
  const next = new URL(url.pathname + url.search, world.url);
  next.searchParams.set('$skiptoken', String(from + size));
  const more = from + size < items.length ? { [link]: next.href } : {};
  return ok({ value: items.slice(from, from + size), ...more });
}

const isKey = (one: Key, { place, what, scope, user }: Key) =>
  one.place === place && one.what === what && one.scope.toLowerCase() === scope.toLowerCase() && one.user === user;

export const isLive = ({ addedAt, removedAt, end }: Schedule, at: number) =>
  addedAt <= at && (removedAt === undefined || removedAt > at) && (end === undefined || end > at);

const liveSchedules = ({ schedules }: World, key: Key, at: number) =>
  schedules.filter((one) => isKey(one, key) && isLive(one, at));

/** Returns whether there is an assignment without a schedule. */
function hasPlain(world: World, key: Key): boolean {
  const at = world.now();
  if (key.place === 'group') return world.members.has(`${key.what} ${key.user}`, at);
  if (key.place === 'directory') return world.directoryAssignments.has(`${key.what} ${key.user}`, at);
  return [...world.azureAssignments.values()].some(
    (one) =>
      one.principalId === key.user &&
      one.roleDefinitionId === key.what &&
      one.scope.toLowerCase() === key.scope.toLowerCase(),
  );
}

function removePlain(world: World, key: Key): void {
  if (key.place === 'group') world.members.remove(`${key.what} ${key.user}`, world.now());
  else if (key.place === 'directory') world.directoryAssignments.remove(`${key.what} ${key.user}`, world.now());
  else {
    for (const [name, one] of world.azureAssignments) {
      const same = one.principalId === key.user && one.roleDefinitionId === key.what;
      if (same && one.scope.toLowerCase() === key.scope.toLowerCase()) world.azureAssignments.delete(name);
    }
  }
}

/** Returns whether a person has the access, as the system itself would decide it. */
export function isHeld(world: World, key: Key, at = world.now()): boolean {
  return hasPlain(world, key) || liveSchedules(world, key, at).length > 0;
}

export interface Submitted {
  action: string;
  justification: string;
  start?: string | undefined;
  end?: string | undefined;
}

/** Adds a schedule request by the rules of Privileged Identity Management. Returns the request, or the error when it is rejected. */
export function submit(
  world: World,
  key: Key,
  { action, justification, end: endText }: Submitted,
): ScheduleRequest | Answer {
  const now = world.now();
  const live = liveSchedules(world, key, now);
  const verb = action.toLowerCase();
  if (!world.licensed) return refusal(400, 'AadPremiumLicenseRequired', 'The tenant needs Microsoft Entra ID P2.');
  if (!world.users.has(key.user)) return refusal(404, 'SubjectNotFound', 'The subject is not found.');
  if (key.place === 'group' && !world.groups.has(key.what)) {
    return refusal(404, 'ResourceNotFound', 'The resource is not found.');
  }
  if (world.requests.some((one) => isKey(one, key) && one.status === 'PendingProvisioning')) {
    return refusal(
      400,
      'PendingRoleAssignmentRequest',
      'There is already an existing pending Role assignment request.',
    );
  }
  const end = endText === undefined ? undefined : Date.parse(endText);
  if (verb !== 'adminremove' && (end === undefined || end > now + world.longest)) {
    return refusal(
      400,
      'RoleAssignmentRequestPolicyValidationFailed',
      'The following policy rules failed: ["ExpirationRule"]',
    );
  }
  if (verb !== 'adminremove' && (end ?? 0) < now + 300_000) {
    return refusal(400, 'ActiveDurationTooShort', 'The active duration is too short.');
  }
  const held = live.length > 0 || hasPlain(world, key);
  if (verb === 'adminassign' && held)
    return refusal(400, 'RoleAssignmentExists', 'The Role assignment already exists.');
  if (verb !== 'adminassign' && !held) {
    return refusal(400, 'RoleAssignmentDoesNotExist', 'The Role assignment does not exist.');
  }
  if (verb === 'adminremove' && world.keepsFiveMinutes && live.some(({ addedAt }) => now < addedAt + 300_000)) {
    return refusal(400, 'ActiveDurationTooShort', 'The active duration is too short.');
  }
  const request: ScheduleRequest = {
    ...key,
    id: randomUUID(),
    action,
    status: 'PendingProvisioning',
    justification,
    createdAt: now,
    apply() {
      const at = world.now();
      if (verb === 'adminremove') {
        for (const one of liveSchedules(world, key, at)) one.removedAt = at;
        removePlain(world, key);
      } else if (verb === 'adminassign') world.schedules.push({ ...key, addedAt: at, end });
      else for (const one of liveSchedules(world, key, at)) one.end = end;
      request.status = 'Provisioned';
    },
  };
  world.requests.push(request);
  if (!world.putOff.has(key.user)) request.apply();
  return request;
}

export const requestsOf = ({ requests }: World, user: string, place: PlaceName) =>
  requests.filter((one) => one.user === user && one.place === place);
