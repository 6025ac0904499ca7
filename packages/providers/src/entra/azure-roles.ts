import { createHash } from 'node:crypto';
import { z } from 'zod';
import { Terminal } from '../errors.js';
import { parseAnswer } from '../http/answer.js';
import { type Api, errorOf } from './api.js';
import type { EntraConfig } from './config.js';
import { equal, isName, isSameScope, isScope, isWithin } from './names.js';
import { endOf, explainRefusal, markOf, type Place, readMark, type Schedules, type Subject } from './place.js';

/** What a role of Azure permits, or what a caller may do at a scope. */
export const permissionsSchema = z.object({
  actions: z.array(z.string()).default([]),
  notActions: z.array(z.string()).default([]),
});
export type Permissions = z.infer<typeof permissionsSchema>;

const text = z.string().nullish();
const definitionSchema = z.object({
  name: z.string().min(1),
  properties: z.object({ roleName: z.string(), permissions: z.array(permissionsSchema).default([]) }),
});
const assigned = z.object({
  scope: z.string(),
  roleDefinitionId: z.string(),
  principalId: z.string(),
  principalType: text,
  memberType: text,
  description: text,
  endDateTime: text,
});
const assignmentSchema = z.object({ name: z.string(), properties: assigned });
const requestSchema = z.object({
  name: z.string(),
  properties: assigned.extend({ requestType: z.string(), status: z.string(), justification: text, createdOn: text }),
});
type Assigned = z.infer<typeof assigned>;

const plainVersion = '2022-04-01';
const scheduleVersion = '2020-10-01';
const authorization = '/providers/Microsoft.Authorization';
/** Actions with which a holder can give themselves more access, or access that does not end. */
const dangers = [
  'Microsoft.Authorization/roleAssignments/write',
  'Microsoft.Authorization/roleDefinitions/write',
  'Microsoft.Authorization/roleAssignmentScheduleRequests/write',
  'Microsoft.Authorization/roleEligibilityScheduleRequests/write',
  'Microsoft.Authorization/elevateAccess/action',
  // The holder could make a managed identity trust an issuer of their own.
  'Microsoft.ManagedIdentity/userAssignedIdentities/federatedIdentityCredentials/write',
];

/** Creates the part that assigns roles of Azure on scopes. */
export function createAzureRoles(config: EntraConfig, { azure, list }: Api, now: () => number): Place {
  const lastOf = (id: string) => id.slice(id.lastIndexOf('/') + 1).toLowerCase();
  const isOf = ({ what, scope, user }: Subject, item: Assigned) =>
    isSameScope(item.scope, scope) && lastOf(item.roleDefinitionId) === what.toLowerCase() && item.principalId === user;
  const definitionId = ({ what, scope }: Subject) => `${scope}${authorization}/roleDefinitions/${what}`;

  async function findRole(name: string, scope: string, signal: AbortSignal) {
    if (!isName(name) || !isScope(scope)) return null;
    const query = { 'api-version': plainVersion, $filter: equal('roleName', name) };
    const call = { path: `${scope}${authorization}/roleDefinitions`, query };
    for await (const { item } of list(azure, call, definitionSchema, signal)) {
      if (item.properties.roleName === name) return item;
    }
    return null;
  }

  const at = (subject: Subject, id: string) =>
    `${subject.scope}${authorization}/roleAssignments/${nameOf(subject, id)}`;
  const query = { 'api-version': plainVersion };

  async function* assignments(scope: string, $filter: string | undefined, signal: AbortSignal) {
    const call = { path: `${scope}${authorization}/roleAssignments`, query: { ...query, $filter } };
    for await (const { item } of list(azure, call, assignmentSchema, signal)) yield item;
  }

  async function hasOwn(subject: Subject, id: string, signal: AbortSignal): Promise<boolean> {
    const call = { method: 'GET' as const, path: at(subject, id), query, schema: assignmentSchema };
    return (await azure.find(call, signal)) !== null;
  }

  /** Returns the names of the assignments that give the access. */
  async function listNames(subject: Subject, signal: AbortSignal): Promise<string[]> {
    const names: string[] = [];
    const ofUser = equal('principalId', subject.user);
    for await (const { name, properties } of assignments(subject.scope, ofUser, signal)) {
      if (isOf(subject, properties)) names.push(name.toLowerCase());
    }
    return names.sort();
  }

  return {
    async find(access, signal) {
      if (!('azure_role' in access)) return null;
      const role = await findRole(access.azure_role, access.scope, signal);
      // Azure folds the case of scopes, so one scope is one pin.
      return role && { what: role.name.toLowerCase(), scope: access.scope.toLowerCase() };
    },

    async check(subject, signal) {
      const call = { method: 'GET' as const, path: definitionId(subject), query, schema: definitionSchema };
      const role = await azure.find(call, signal);
      if (!role) throw new Terminal('The role or the scope does not exist at Azure');
      if (!config.allow_privileged_roles && dangers.some((danger) => permits(role.properties.permissions, danger))) {
        throw new Terminal('The role is privileged, and allow_privileged_roles is not set for this provider');
      }
    },

    plain: {
      async holds(subject, id, signal) {
        // Lists can lag, so Belay's own assignment is first read by its name.
        if (await hasOwn(subject, id, signal)) return true;
        return (await listNames(subject, signal)).length > 0;
      },
      async others(subject, id, signal) {
        // A list that lags may still have Belay's own assignment.
        const names = (await listNames(subject, signal)).filter((name) => name !== nameOf(subject, id));
        return names.map((name) => `the role assignment ${name}`);
      },
      async add(subject, id, signal) {
        const properties = {
          roleDefinitionId: definitionId(subject),
          principalId: subject.user,
          // Without this, Azure rejects an account that has not been replicated yet.
          principalType: 'User',
          description: markOf(id),
        };
        const call = { method: 'PUT' as const, path: at(subject, id), query, json: { properties }, accept: [400, 409] };
        const answer = await azure.send(call, signal);
        if (answer.status < 300) return;
        const { code } = errorOf(answer);
        if (
          code === 'RoleAssignmentExists' ||
          (code === 'RoleAssignmentUpdateNotPermitted' && (await hasOwn(subject, id, signal)))
        )
          return;
        if (code === 'RoleAssignmentLimitExceeded')
          throw new Terminal('The subscription has no room for another role assignment');
        throw new Terminal('Azure does not accept the role assignment');
      },
      async remove(subject, id, signal) {
        const call = { method: 'DELETE' as const, path: at(subject, id), query, accept: [404] };
        const { status, body } = await azure.send(call, signal);
        // 204 means that there was no assignment.
        if (status === 204 || status === 404) return false;
        parseAnswer(assignmentSchema, body, { service: 'Azure', method: call.method, path: call.path });
        return true;
      },
    },

    schedules: azureSchedules(),

    async *holders(name, signal) {
      for (const root of config.scopes) {
        const role = await findRole(name, root, signal);
        if (!role) throw new Terminal('exclusive: a role of this list does not exist');
        for await (const { properties } of assignments(root, undefined, signal)) {
          const { scope, roleDefinitionId, principalId, principalType, description } = properties;
          if (lastOf(roleDefinitionId) !== role.name.toLowerCase() || !isWithin(scope, root)) continue;
          if (principalType != null && principalType !== 'User') continue;
          const what = role.name.toLowerCase();
          yield { user: principalId, access: { azure_role: name, scope }, what, scope, mark: readMark(description) };
        }
      }
    },
  };

  function azureSchedules(): Schedules {
    const listOf = <T>(subject: Subject, name: string, schema: z.ZodType<T>, signal: AbortSignal) => {
      const $filter = equal('principalId', subject.user);
      const call = {
        path: `${subject.scope}${authorization}/${name}`,
        query: { 'api-version': scheduleVersion, $filter },
      };
      return list(azure, call, schema, signal);
    };
    return {
      // Azure lists plain assignments among the instances.
      hidesPlain: false,
      async ends(subject, signal) {
        const found: number[] = [];
        for await (const { item, time } of listOf(
          subject,
          'roleAssignmentScheduleInstances',
          assignmentSchema,
          signal,
        )) {
          const end = endOf(item.properties.endDateTime, time);
          const direct = !['inherited', 'group'].includes(item.properties.memberType?.toLowerCase() ?? '');
          if (isOf(subject, item.properties) && direct && end !== undefined) found.push(end);
        }
        return found;
      },
      async requests(subject, signal) {
        const found = [];
        for await (const { item } of listOf(subject, 'roleAssignmentScheduleRequests', requestSchema, signal)) {
          const { requestType: action, status, justification, createdOn } = item.properties;
          if (!isOf(subject, item.properties)) continue;
          found.push({
            id: item.name,
            action,
            status,
            mark: justification ?? '',
            at: Date.parse(createdOn ?? '') || 0,
          });
        }
        return found;
      },
      async submit(subject, { action, id, until, after }, signal) {
        // Each request needs its own name, so the name depends on the time and on the number of earlier requests.
        const name = nameOf(subject, `${id} ${action} ${after} ${now()}`);
        const path = `${subject.scope}${authorization}/roleAssignmentScheduleRequests/${name}`;
        const properties = {
          principalId: subject.user,
          roleDefinitionId: definitionId(subject),
          requestType: `A${action.slice(1)}`,
          justification: markOf(id),
          ...(until && {
            scheduleInfo: {
              startDateTime: new Date(now()).toISOString(),
              expiration: { type: 'AfterDateTime', endDateTime: until.toISOString() },
            },
          }),
        };
        const call = { method: 'PUT' as const, path, query: { 'api-version': scheduleVersion }, json: { properties } };
        const answer = await azure.send({ ...call, accept: [400, 403, 404, 409] }, signal);
        if (answer.status >= 400) return explainRefusal(answer, action);
        const schema = z.object({ properties: z.object({ status: z.string() }) });
        const asked = { service: 'Azure', method: 'PUT', path };
        return { id: name, status: parseAnswer(schema, answer.body, asked).properties.status };
      },
    };
  }
}

/**
 * Returns the name of an assignment or of a request, in the form of a UUID of version 5 (RFC 9562, 5.5): the same for
 * the same subject and `id`.
 */
function nameOf({ user, what, scope }: Subject, id: string): string {
  const hash = createHash('sha1')
    .update(JSON.stringify(['belay', id, user, what, scope.toLowerCase()]))
    .digest();
  hash[6] = ((hash[6] ?? 0) & 0x0f) | 0x50;
  hash[8] = ((hash[8] ?? 0) & 0x3f) | 0x80;
  return hash.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** Returns whether an action is permitted. Actions in the list can contain asterisks as wildcards. */
export function permits(list: readonly Permissions[], action: string): boolean {
  const covers = (pattern: string) => {
    const parts = pattern.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&'));
    return new RegExp(`^${parts.join('.*')}$`, 'i').test(action);
  };
  return list.some(({ actions, notActions }) => actions.some(covers) && !notActions.some(covers));
}
