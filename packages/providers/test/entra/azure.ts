import type { Answer } from '../support/fake-server.js';
import { readFilter } from './odata.js';
import {
  type AzureAssignment,
  done,
  isLive,
  type Key,
  ok,
  page,
  type Request,
  refusal,
  requestsOf,
  submit,
  type World,
} from './world.js';

const authorization = '/providers/Microsoft.Authorization/';
const iso = (time: number | undefined) => (time === undefined ? undefined : new Date(time).toISOString());
const lastOf = (id: string) => id.slice(id.lastIndexOf('/') + 1);
const isAbove = (one: string, other: string) => one === other || other.startsWith(`${one}/`);

/** Serves Azure Resource Manager: role definitions, role assignments and their schedule requests. */
export function answerAzure(request: Request, world: World): Answer | undefined {
  const { url, method } = request;
  const at = decodeURIComponent(url.pathname);
  const index = at.lastIndexOf(authorization);
  if (index < 0) return undefined;
  const scope = at.slice(0, index);
  const [list = '', name] = at.slice(index + authorization.length).split('/');
  if (!url.searchParams.has('api-version')) {
    return refusal(400, 'MissingApiVersionParameter', 'The api-version query parameter is required for all requests.');
  }
  if (!world.scopes.has(scope.toLowerCase())) return refusal(404, 'ResourceGroupNotFound', 'could not be found.');
  if (list === 'permissions') return ok({ value: [{ actions: [...world.azureActions], notActions: [] }] });
  const verb = method === 'GET' ? 'read' : method === 'DELETE' ? 'delete' : 'write';
  const listed = list === 'roleAssignmentScheduleInstances' ? 'roleAssignments' : list;
  const right = verb === 'read' && list === 'roleAssignmentScheduleRequests' ? 'roleAssignments' : listed;
  if (!world.azureActions.has(`Microsoft.Authorization/${right}/${verb}`)) {
    return refusal(403, 'AuthorizationFailed', 'The client does not have authorization to perform action.');
  }
  if (list === 'roleDefinitions') return answerDefinitions(scope, name, request, world);
  if (list === 'roleAssignments') return answerAssignments(scope, name, request, world);
  return answerSchedules(scope, list, name, request, world);
}

function answerDefinitions(scope: string, name: string | undefined, { url }: Request, world: World): Answer {
  const all = [...world.azureRoles.values()].map(({ id, roleName, actions, notActions }) => ({
    id: `${scope}${authorization}roleDefinitions/${id}`,
    name: id,
    properties: { roleName, type: 'BuiltInRole', permissions: [{ actions, notActions }] },
  }));
  if (name !== undefined) {
    const found = all.find((one) => one.name === name);
    return found ? ok(found) : refusal(404, 'RoleDefinitionDoesNotExist');
  }
  const filter = readFilter(url.searchParams.get('$filter'));
  if (!filter) return refusal(400, 'UnsupportedQuery');
  return page(
    world,
    url,
    all.filter(({ properties }) => filter(properties)),
    { link: 'nextLink' },
  );
}

function show(one: AzureAssignment) {
  const { name, scope, roleDefinitionId, principalId, principalType, description } = one;
  const definition = `${scope}${authorization}roleDefinitions/${roleDefinitionId}`;
  const properties = { scope, roleDefinitionId: definition, principalId, principalType, description };
  return { id: `${scope}${authorization}roleAssignments/${name}`, name, properties };
}

function answerAssignments(scope: string, name: string | undefined, request: Request, world: World): Answer {
  const { method, url } = request;
  if (name === undefined) {
    const filter = readFilter(url.searchParams.get('$filter'));
    if (!filter) return refusal(400, 'UnsupportedQuery');
    const [own, all] = [scope.toLowerCase(), [...world.azureAssignments.values()]];
    const near = all.filter((one) => isAbove(one.scope.toLowerCase(), own) || isAbove(own, one.scope.toLowerCase()));
    return page(
      world,
      url,
      near.map(show).filter(({ properties }) => filter(properties)),
      { link: 'nextLink' },
    );
  }
  const found = world.azureAssignments.get(name);
  const here = found && found.scope.toLowerCase() === scope.toLowerCase() ? found : undefined;
  if (method === 'GET') return here ? ok(show(here)) : refusal(404, 'RoleAssignmentNotFound');
  if (method === 'DELETE') {
    if (!here) return done;
    world.azureAssignments.delete(name);
    return ok(show(here));
  }
  return put(scope, name, request, world);
}

function put(scope: string, name: string, { body }: Request, world: World): Answer {
  const properties = body.properties as Record<string, string>;
  const { roleDefinitionId = '', principalId = '', principalType = '', description } = properties;
  const role = lastOf(roleDefinitionId);
  if (!world.users.has(principalId))
    return refusal(400, 'PrincipalNotFound', 'Principal does not exist in the directory.');
  if (!world.azureRoles.has(role)) return refusal(400, 'RoleDefinitionDoesNotExist');
  const all = [...world.azureAssignments.values()];
  const same = all.some(
    (one) =>
      one.principalId === principalId &&
      one.roleDefinitionId === role &&
      one.scope.toLowerCase() === scope.toLowerCase(),
  );
  if (same) return refusal(409, 'RoleAssignmentExists', 'The role assignment already exists.');
  if (all.length >= 4_000) return refusal(400, 'RoleAssignmentLimitExceeded');
  const made = { name, scope, roleDefinitionId: role, principalId, principalType, description };
  world.azureAssignments.set(name, made);
  return { status: 201, body: show(made) };
}

function answerSchedules(
  scope: string,
  list: string,
  name: string | undefined,
  request: Request,
  world: World,
): Answer {
  const { method, url, body } = request;
  const user = /^principalId eq '([^']+)'$/.exec(url.searchParams.get('$filter') ?? '')?.[1] ?? '';
  const shown = (one: Key) => ({
    scope: one.scope,
    roleDefinitionId: `${one.scope}${authorization}roleDefinitions/${one.what}`,
    principalId: one.user,
    principalType: 'User',
    memberType: 'Direct',
  });
  if (list === 'roleAssignmentScheduleInstances') {
    const live = world.schedules.filter(
      (one) => one.place === 'azure' && one.user === user && isLive(one, world.now() - world.lag),
    );
    const plain = [...world.azureAssignments.values()].filter(({ principalId }) => principalId === user);
    const items = [
      ...live.map((one) => ({ name: 'i', properties: { ...shown(one), endDateTime: iso(one.end) } })),
      ...plain.map(({ scope: where, roleDefinitionId: what }) => ({
        name: 'i',
        properties: shown({ place: 'azure', scope: where, what, user }),
      })),
    ];
    return page(world, url, items, { link: 'nextLink' });
  }
  if (list !== 'roleAssignmentScheduleRequests') return refusal(404, 'InvalidResourceType');
  if (method === 'GET') {
    const items = requestsOf(world, user, 'azure')
      .filter(({ createdAt }) => createdAt <= world.now() - world.lag)
      .map((one) => ({
        name: one.id,
        properties: {
          ...shown(one),
          requestType: one.action,
          status: one.status,
          justification: one.justification,
          createdOn: iso(one.createdAt),
        },
      }));
    return page(world, url, items, { link: 'nextLink' });
  }
  const properties = body.properties as Record<string, string>;
  const info = (body.properties as { scheduleInfo?: { expiration?: { endDateTime?: string } } }).scheduleInfo;
  const key: Key = {
    place: 'azure',
    what: lastOf(properties.roleDefinitionId ?? ''),
    scope,
    user: properties.principalId ?? '',
  };
  if (!/^[0-9a-f]{8}-[0-9a-f]{4}-5/.test(name ?? '')) return refusal(400, 'InvalidRoleAssignmentScheduleRequestId');
  if (world.requests.some(({ id }) => id === name)) return refusal(409, 'RoleAssignmentRequestExists');
  const made = submit(world, key, {
    action: properties.requestType ?? '',
    justification: properties.justification ?? '',
    end: info?.expiration?.endDateTime,
  });
  if ('apply' in made) made.id = name ?? '';
  return 'apply' in made ? { status: 201, body: { name, properties: { status: made.status } } } : made;
}
