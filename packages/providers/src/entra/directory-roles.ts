import { z } from 'zod';
import { Terminal } from '../errors.js';
import { path } from '../http/client.js';
import { type Api, errorOf, refuseUnlessEmpty } from './api.js';
import type { EntraConfig } from './config.js';
import { graphSchedules } from './graph-schedules.js';
import { equal, isName } from './names.js';
import type { Place } from './place.js';

const base = '/v1.0/roleManagement/directory';
const roleSchema = z.object({
  id: z.string().min(1),
  displayName: z.string(),
  isEnabled: z.boolean().nullish(),
  rolePermissions: z.array(z.object({ allowedResourceActions: z.array(z.string()).default([]) })).default([]),
});
const assignmentSchema = z.object({
  id: z.string().min(1),
  principalId: z.string(),
  directoryScopeId: z.string().nullish(),
});

/** Actions with which a holder can give themselves or others more access, or sign in as another person or an application. */
const dangers = [
  /^microsoft\.directory\/(roleAssignments|roleDefinitions|groupsAssignableToRoles|privilegedIdentityManagement|conditionalAccessPolicies|federation)\b.*\/(allTasks|create|update|basic\/update)$/i,
  /\/(credentials|password|authenticationMethods(\/[^/]+)?|allProperties)\/(allTasks|create|update|basic\/update)$/i,
  /\/(inviteUser|strongAuthentication)\/update$/i,
  // An action for one kind of group or application has the kind after a dot.
  /^microsoft\.directory\/(groups|administrativeUnits|applications|servicePrincipals)(\.[\w.]+)?\/(members|owners|dynamicMembershipRule|appRoleAssignedTo)\/update$/i,
  /^microsoft\.directory\/(servicePrincipals\/managePermissionGrants|oAuth2PermissionGrants\/.*(create|update|allTasks)$)/i,
];

/** Creates the part that assigns roles of the directory for the whole tenant. */
export function createDirectoryRoles(config: EntraConfig, api: Api, now: () => number): Place {
  const { graph, list } = api;

  async function findRole(name: string, signal: AbortSignal) {
    if (!isName(name)) return null;
    const query = { $filter: equal('displayName', name) };
    for await (const { item } of list(graph, { path: `${base}/roleDefinitions`, query }, roleSchema, signal)) {
      if (item.displayName === name) return item;
    }
    return null;
  }

  async function* assignments(role: string, user: string | undefined, signal: AbortSignal) {
    const $filter = [equal('roleDefinitionId', role), ...(user === undefined ? [] : [equal('principalId', user)])].join(
      ' and ',
    );
    const call = { path: `${base}/roleAssignments`, query: { $filter } };
    for await (const { item } of list(graph, call, assignmentSchema, signal)) {
      if (item.directoryScopeId === '/' && (user === undefined || item.principalId === user)) yield item;
    }
  }

  const schedules = graphSchedules(
    api,
    `${base}/roleAssignment`,
    ({ what, user }) => ({ roleDefinitionId: what, principalId: user, directoryScopeId: '/' }),
    { filterBy: ['principalId', 'roleDefinitionId'], now },
  );

  return {
    async find(access, signal) {
      const role = 'directory_role' in access ? await findRole(access.directory_role, signal) : null;
      return role && { what: role.id, scope: '/' };
    },

    async check({ what }, signal) {
      const at = `${base}/${path`/roleDefinitions/${what}`.slice(1)}`;
      const role = await graph.find({ method: 'GET', path: at, schema: roleSchema }, signal);
      if (!role || role.isEnabled === false) throw new Terminal('The role does not exist at Entra, or is disabled');
      const actions = role.rolePermissions.flatMap(({ allowedResourceActions }) => allowedResourceActions);
      if (actions.some((action) => dangers.some((danger) => danger.test(action))) && !config.allow_privileged_roles) {
        throw new Terminal('The role is privileged, and allow_privileged_roles is not set for this provider');
      }
    },

    plain: {
      async holds({ what, user }, _id, signal) {
        return (await assignments(what, user, signal).next()).done !== true;
      },
      async add({ what, user }, _id, signal) {
        const json = { roleDefinitionId: what, principalId: user, directoryScopeId: '/' };
        const answer = await graph.send(
          { method: 'POST', path: `${base}/roleAssignments`, json, accept: [400] },
          signal,
        );
        if (
          answer.status < 300 ||
          /conflicting object|RoleAssignmentExists/i.test(Object.values(errorOf(answer)).join())
        )
          return;
        throw new Terminal('Entra does not accept the assignment of the role');
      },
      async remove({ what, user }, _id, signal) {
        let removed = false;
        for await (const { id } of assignments(what, user, signal)) {
          const at = `${base}/${path`/roleAssignments/${id}`.slice(1)}`;
          const answer = await graph.send({ method: 'DELETE', path: at, accept: [404] }, signal);
          if (answer.status === 404) continue;
          refuseUnlessEmpty(answer);
          removed = true;
        }
        return removed;
      },
    },

    schedules: { ...schedules, hidesPlain: false },

    async *holders(name, signal) {
      const role = await findRole(name, signal);
      if (!role) throw new Terminal('exclusive: a role of this list does not exist');
      const shared = { access: { directory_role: name }, what: role.id, scope: '/', mark: '' };
      for await (const { principalId } of assignments(role.id, undefined, signal))
        yield { ...shared, user: principalId };
    },
  };
}
