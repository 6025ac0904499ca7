import { randomUUID } from 'node:crypto';
import type { Answer } from '../support/fake-server.js';
import { readFilter } from './odata.js';
import {
  denied,
  done,
  isLive,
  type Key,
  missing,
  ok,
  page,
  type Request,
  refusal,
  submit,
  type World,
} from './world.js';

const unsupported = () => refusal(400, 'Request_UnsupportedQuery', 'Unsupported Query.');
const iso = (time: number | undefined) => (time === undefined ? null : new Date(time).toISOString());

/** Serves the parts of Microsoft Graph v1.0 that the connector uses, by the documented rules. */
export function answerGraph(request: Request, world: World): Answer | undefined {
  const at = decodeURIComponent(request.url.pathname);
  if (!at.startsWith('/v1.0/')) return undefined;
  const rest = at.slice('/v1.0'.length);
  return (
    answerUsers(rest, request, world) ??
    answerGroups(rest, request, world) ??
    answerSchedules(rest, request, world) ??
    answerDirectoryRoles(rest, request, world) ??
    refusal(400, 'BadRequest', `Resource not found for the segment '${rest}'.`)
  );
}

const may = (world: World, ...some: string[]) => some.some((one) => world.permissions.has(one));

function answerUsers(at: string, { method, url }: Request, world: World): Answer | undefined {
  const [, id, verb] = /^\/users(?:\/([^/]+))?(?:\/(\w+))?$/.exec(at) ?? [];
  if (!at.startsWith('/users')) return undefined;
  if (!may(world, 'User.Read.All')) return denied();
  if (id === undefined) return listOf(world, url, [...world.users.values()]);
  const user = [...world.users.values()].find((one) => [one.id, one.userPrincipalName].includes(id));
  if (!user) return missing(id);
  if (verb === undefined) return ok(user);
  return method === 'POST' && may(world, 'User.RevokeSessions.All') ? ok({ value: true }) : denied();
}

function listOf(world: World, url: URL, items: object[]): Answer {
  const filter = readFilter(url.searchParams.get('$filter'));
  return filter
    ? page(
        world,
        url,
        items.filter((one) => filter(one as Record<string, unknown>)),
      )
    : unsupported();
}

function answerGroups(at: string, request: Request, world: World): Answer | undefined {
  const [, id, tail = ''] = /^\/groups(?:\/([^/]+))?(\/.*)?$/.exec(at) ?? [];
  if (!/^\/groups(\/|$)/.test(at)) return undefined;
  if (!may(world, 'GroupMember.Read.All', 'GroupMember.ReadWrite.All')) return denied();
  const { method, url } = request;
  if (id === undefined) return listOf(world, url, [...world.groups.values()]);
  const group = world.groups.get(id);
  if (!group) return missing(id);
  if (tail === '') return ok(group);
  if (method === 'GET') return listMembers(group.id, tail, request, world);
  if (!may(world, 'GroupMember.ReadWrite.All')) return denied();
  if (group.groupTypes.includes('DynamicMembership') || group.onPremisesSyncEnabled) {
    return refusal(400, 'Request_BadRequest', 'Insufficient privileges to complete the write operation.');
  }
  if (method === 'POST' && tail === '/members/$ref') return addMember(group.id, request, world);
  const [, user = '', ref] = /^\/members\/([^/]+)(\/\$ref)?$/.exec(tail) ?? [];
  if (method !== 'DELETE' || user === '') return undefined;
  // Without `/$ref`, Graph deletes the account itself.
  if (ref === undefined) return world.users.delete(user) ? done : missing(user);
  return removeMember(group.id, user, world);
}

function isMember(world: World, group: string, user: string, at: number): boolean {
  const scheduled = world.schedules.some(
    (one) => one.place === 'group' && one.what === group && one.user === user && isLive(one, at),
  );
  return world.users.has(user) && (scheduled || world.members.has(`${group} ${user}`, at));
}

function membersOf(world: World, group: string, at = world.now()): string[] {
  const plain = world.members.keys(at).filter((key) => key.startsWith(`${group} `));
  const named = plain.map((key) => key.slice(group.length + 1));
  const scheduled = world.schedules.filter((one) => one.place === 'group' && one.what === group && isLive(one, at));
  return [...new Set([...named, ...scheduled.map(({ user }) => user)])].filter((user) => world.users.has(user));
}

function listMembers(group: string, tail: string, { url, headers }: Request, world: World): Answer {
  const at = world.now() - world.lag;
  const filter = url.searchParams.get('$filter');
  if (filter === null)
    return page(
      world,
      url,
      membersOf(world, group, at).map((id) => world.users.get(id)),
    );
  const user = /^id eq '([^']+)'$/.exec(filter)?.[1];
  const advanced = headers.consistencylevel === 'eventual' && url.searchParams.get('$count') === 'true';
  if (user === undefined || !advanced || tail !== '/members') return unsupported();
  return page(world, url, isMember(world, group, user, at) ? [{ id: user }] : []);
}

function addMember(group: string, { body }: Request, world: World): Answer {
  const user = /\/v1\.0\/directoryObjects\/([^/]+)$/.exec(String(body['@odata.id']))?.[1] ?? '';
  if (!world.users.has(user)) return missing(user);
  if (isMember(world, group, user, world.now())) {
    const message =
      "One or more added object references already exist for the following modified properties: 'members'.";
    return refusal(400, 'Request_BadRequest', message);
  }
  world.members.add(`${group} ${user}`, world.now());
  return done;
}

function removeMember(group: string, user: string, world: World): Answer {
  if (!isMember(world, group, user, world.now())) return missing(user);
  world.members.remove(`${group} ${user}`, world.now());
  for (const one of world.schedules) {
    if (one.place === 'group' && one.what === group && one.user === user) one.removedAt = world.now();
  }
  return done;
}

const bases = {
  group: '/identityGovernance/privilegedAccess/group/assignment',
  directory: '/roleManagement/directory/roleAssignment',
} as const;

function answerSchedules(at: string, { method, url, body }: Request, world: World): Answer | undefined {
  const place = (['group', 'directory'] as const).find((one) => at.startsWith(`${bases[one]}Schedule`));
  if (place === undefined) return undefined;
  const permission =
    place === 'group'
      ? 'PrivilegedAssignmentSchedule.ReadWrite.AzureADGroup'
      : 'RoleAssignmentSchedule.ReadWrite.Directory';
  if (!may(world, permission)) return denied();
  const show = (one: Key) =>
    place === 'group'
      ? { groupId: one.what, principalId: one.user, accessId: 'member' }
      : { roleDefinitionId: one.what, principalId: one.user, directoryScopeId: one.scope };
  if (at === `${bases[place]}ScheduleInstances`) {
    const live = world.schedules.filter((one) => one.place === place && isLive(one, world.now() - world.lag));
    const plain =
      place === 'directory' ? plainDirectory(world).map((one) => ({ ...one, addedAt: 0, end: undefined })) : [];
    const known = [...live, ...plain].filter(({ user }) => world.users.has(user));
    const items = known.map((one) => ({
      ...show(one),
      assignmentType: 'assigned',
      memberType: 'direct',
      startDateTime: iso(one.addedAt),
      endDateTime: iso(one.end),
    }));
    return listOf(world, url, items);
  }
  if (method === 'GET') {
    const items = world.requests
      .filter((one) => one.place === place && one.createdAt <= world.now() - world.lag)
      .map((one) => ({ ...show(one), ...present(one) }));
    return listOf(world, url, items);
  }
  const key: Key =
    place === 'group'
      ? { place, what: String(body.groupId), scope: '', user: String(body.principalId) }
      : {
          place,
          what: String(body.roleDefinitionId),
          scope: String(body.directoryScopeId),
          user: String(body.principalId),
        };
  const info = body.scheduleInfo as { expiration?: { endDateTime?: string } } | undefined;
  const submitted = submit(world, key, {
    action: String(body.action),
    justification: String(body.justification),
    end: info?.expiration?.endDateTime,
  });
  return 'apply' in submitted ? { status: 201, body: { ...show(submitted), ...present(submitted) } } : submitted;
}

function present(one: { id: string; action: string; status: string; justification: string; createdAt: number }) {
  const { id, action, status, justification, createdAt } = one;
  return { id, action, status, justification, createdDateTime: iso(createdAt) };
}

function plainDirectory(world: World, at = world.now() - world.lag): Key[] {
  return world.directoryAssignments.keys(at).map((key) => {
    const [what = '', user = ''] = key.split(' ');
    return { place: 'directory', what, scope: '/', user };
  });
}

function answerDirectoryRoles(at: string, { method, url, body }: Request, world: World): Answer | undefined {
  const [, list, id] = /^\/roleManagement\/directory\/(roleDefinitions|roleAssignments)(?:\/([^/]+))?$/.exec(at) ?? [];
  if (list === undefined) return undefined;
  if (list === 'roleDefinitions') {
    const role = world.directoryRoles.get(id ?? '');
    if (id !== undefined) return role ? ok(role) : missing(id);
    return listOf(world, url, [...world.directoryRoles.values()]);
  }
  if (!may(world, 'RoleManagement.ReadWrite.Directory')) return denied();
  if (method === 'GET') {
    const items = plainDirectory(world)
      .filter(({ user }) => world.users.has(user))
      .map(({ what, user }) => ({
        id: Buffer.from(`${what} ${user}`).toString('base64url'),
        roleDefinitionId: what,
        principalId: user,
        directoryScopeId: '/',
      }));
    return listOf(world, url, items);
  }
  if (method === 'DELETE') {
    const key = Buffer.from(id ?? '', 'base64url').toString();
    if (!world.directoryAssignments.has(key, world.now())) return missing(id ?? '');
    world.directoryAssignments.remove(key, world.now());
    return done;
  }
  const [role, user] = [String(body.roleDefinitionId), String(body.principalId)];
  if (!world.directoryRoles.has(role) || !world.users.has(user)) return missing(user);
  if (world.directoryAssignments.has(`${role} ${user}`, world.now())) {
    const message =
      'A conflicting object with one or more of the specified property values is present in the directory.';
    return refusal(400, 'Request_BadRequest', message);
  }
  world.directoryAssignments.add(`${role} ${user}`, world.now());
  return { status: 201, body: { id: randomUUID() } };
}
