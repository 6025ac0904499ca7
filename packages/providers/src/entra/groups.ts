import { z } from 'zod';
import { Retryable, Terminal } from '../errors.js';
import { path } from '../http/client.js';
import type { EntraAccess } from './access.js';
import { type Api, errorOf, refuseUnlessEmpty } from './api.js';
import type { EntraConfig } from './config.js';
import { graphSchedules } from './graph-schedules.js';
import { equal, isGuid, isName } from './names.js';
import type { Place, Subject } from './place.js';

const groupSchema = z.object({
  id: z.string().min(1),
  displayName: z.string().nullish(),
  groupTypes: z.array(z.string()).default([]),
  securityEnabled: z.boolean().nullish(),
  mailEnabled: z.boolean().nullish(),
  membershipRule: z.string().nullish(),
  onPremisesSyncEnabled: z.boolean().nullish(),
  isAssignableToRole: z.boolean().nullish(),
  visibility: z.string().nullish(),
});
type Group = z.infer<typeof groupSchema>;
const $select = Object.keys(groupSchema.shape).join();
const memberSchema = z.object({ id: z.string() });
const personSchema = z.object({ id: z.string(), userPrincipalName: z.string() });
/** Graph finds a single member by an index, which it uses only with this header. */
const indexed = { consistencylevel: 'eventual' };

/** Creates the part that makes people members of groups. */
export function createGroups(config: EntraConfig, api: Api, now: () => number): Place {
  const { graph, list } = api;

  const read = (id: string, signal: AbortSignal) =>
    graph.find({ method: 'GET', path: path`/v1.0/groups/${id}`, query: { $select }, schema: groupSchema }, signal);

  /** Names are not unique at Entra. Entra compares them without regard to case, Belay exactly. */
  async function findGroup(name: string, signal: AbortSignal): Promise<Group | null> {
    if (!isName(name)) return null;
    if (isGuid(name)) return read(name, signal);
    const found: Group[] = [];
    const query = { $filter: equal('displayName', name), $select };
    for await (const { item } of list(graph, { path: '/v1.0/groups', query }, groupSchema, signal)) {
      if (item.displayName === name) found.push(item);
    }
    if (found.length > 1) throw new Terminal('Several groups have this name: write the object ID, group/<object ID>');
    return found[0] ?? null;
  }

  const nameOf = (access: EntraAccess) => ('group' in access ? access.group : '');

  const schedules = graphSchedules(
    api,
    '/v1.0/identityGovernance/privilegedAccess/group/assignment',
    ({ what, user }) => ({ accessId: 'member', groupId: what, principalId: user }),
    { filterBy: ['groupId', 'principalId'], now },
  );

  async function* members(group: string, signal: AbortSignal) {
    const call = {
      path: path`/v1.0/groups/${group}/members/microsoft.graph.user`,
      query: { $select: 'id,userPrincipalName', $top: 999 },
    };
    for await (const { item } of list(graph, call, personSchema, signal)) yield item;
  }

  async function remove({ what, user }: Subject, signal: AbortSignal): Promise<boolean> {
    // Without /$ref at its end, this request deletes the account itself.
    const at = `${path`/v1.0/groups/${what}/members/${user}`}/$ref`;
    const answer = await graph.send({ method: 'DELETE', path: at, accept: [400, 404] }, signal);
    if (answer.status < 300) {
      refuseUnlessEmpty(answer);
      return true;
    }
    if (answer.status === 400 && !/removed object references do not exist/i.test(errorOf(answer).message)) {
      throw new Terminal(
        'Entra does not let the connector remove members of the group: it may be synchronised or dynamic now',
      );
    }
    return false;
  }

  return {
    async find(access, signal) {
      const group = await findGroup(nameOf(access), signal);
      return group && { what: group.id, scope: '' };
    },

    async aliases({ what }, signal) {
      const group = await read(what, signal);
      return [what, ...(group?.displayName ? [group.displayName] : [])].map((name) => `group/${name}`);
    },

    async check({ what }, signal) {
      const group = await read(what, signal);
      if (!group) throw new Terminal('The group does not exist at Entra');
      const fault = faultOf(group, config);
      if (fault !== undefined) throw new Terminal(fault);
    },

    plain: {
      async holds({ what, user }, _id, signal) {
        const query = { $filter: equal('id', user), $count: true, $select: 'id' };
        const call = { path: path`/v1.0/groups/${what}/members`, query, headers: indexed };
        for await (const { item } of list(graph, call, memberSchema, signal)) {
          if (item.id.toLowerCase() === user.toLowerCase()) return true;
        }
        return false;
      },
      async add({ what, user }, _id, signal) {
        const at = `${path`/v1.0/groups/${what}/members`}/$ref`;
        const json = { '@odata.id': new URL(path`/v1.0/directoryObjects/${user}`, config.endpoints.graph).href };
        const answer = await graph.send({ method: 'POST', path: at, json, accept: [400, 404] }, signal);
        if (answer.status < 300) return refuseUnlessEmpty(answer);
        if (/references already exist/i.test(errorOf(answer).message)) return;
        if (answer.status === 404) throw new Retryable('Entra does not know the group or the account everywhere yet');
        throw new Terminal('Entra does not accept the account as a member of the group');
      },
      remove: (subject, _id, signal) => remove(subject, signal),
    },

    schedules: { ...schedules, hidesPlain: true },

    async *holders(name, signal) {
      const group = await findGroup(name, signal);
      if (!group) throw new Terminal('exclusive: a group of this list does not exist');
      const shared = { access: { group: name }, what: group.id, scope: '', mark: '' };
      for await (const { id: user, userPrincipalName: identity } of members(group.id, signal)) {
        yield { ...shared, user, identity };
      }
    },
  };
}

/** Returns why a group may not be granted, or undefined. */
function faultOf(group: Group, { allow_role_assignable_groups: allowed }: EntraConfig): string | undefined {
  if (group.groupTypes.includes('DynamicMembership') || group.membershipRule) {
    return 'The group is dynamic: a rule decides who its members are';
  }
  if (group.onPremisesSyncEnabled)
    return 'The group is synchronised from another directory, which decides who its members are';
  if (group.mailEnabled && !group.groupTypes.includes('Unified')) {
    return 'The group is one of Exchange: Microsoft Graph cannot change its members';
  }
  if (group.visibility === 'HiddenMembership')
    return 'The group hides its members, so that Belay could not see what it granted';
  const named = [group.id, group.displayName ?? ''].some((name) => allowed.includes(name));
  if (group.isAssignableToRole && !named) {
    return 'Roles of the directory can be assigned to the group, and it is not named in allow_role_assignable_groups';
  }
  return undefined;
}
