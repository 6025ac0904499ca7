import * as vitest from 'vitest';
import { type AccessRequest, entraConnector } from '../../src/index.js';
import { conformance, type NamedEntitlement } from '../../src/testkit/index.js';
import { scope, startTenant, subscription, type Tenant, tenantId } from './tenant.js';
import type { PlaceName } from './world.js';

const nothing = { roles: [], permissions: { allow: [], deny: [] }, resources: { allow: [], deny: [] } };
const on = (...allow: string[]) => ({ allow, deny: [] });
const config = entraConnector.config.parse({
  tenant: tenantId,
  client_id: tenantId,
  client_secret: 's',
  scopes: [subscription],
  directory_roles: ['Reports Reader'],
});
const plan = (request: AccessRequest) => entraConnector.plan?.(config, request) ?? { ok: false, issues: [] };
const nonsense: AccessRequest[] = [
  { ...nothing, roles: ['Shop Operators'] },
  { ...nothing, roles: ['group/'] },
  { ...nothing, roles: [`group/${'x'.repeat(300)}`] },
  { ...nothing, roles: ['directory-role/Global Administrator'] },
  { ...nothing, roles: ['azure-role/Reader'] },
  { ...nothing, roles: ['azure-role/Reader'], resources: on('projects/shop') },
  { ...nothing, roles: ['azure-role/Reader'], resources: on('/subscriptions/00000000-0000-4000-8000-000000000000') },
  { ...nothing, roles: ['azure-role/Reader'], resources: on(`${subscription}/resourceGroups/../../x`) },
  { ...nothing, roles: ['azure-role/Reader'], resources: { allow: [subscription], deny: [scope] } },
  { ...nothing, roles: ['group/Shop Operators'], resources: on(subscription) },
  { ...nothing, roles: ['group/Shop Operators'], permissions: { allow: ['x'], deny: [] } },
  { ...nothing, roles: ['group/Shop Operators'], permissions: { allow: [], deny: ['x'] } },
];
const sensible = {
  ...nothing,
  roles: ['group/Shop Operators', 'directory-role/Reports Reader', 'azure-role/Reader'],
  resources: on(subscription, scope),
};
const unknown = {
  group: { group: 'No such group' },
  directory: { directory_role: 'No such role' },
  azure: { azure_role: 'No such role', scope },
};
const kinds = { group: 'groups', directory: 'directory_roles', azure: 'azure_roles' };

/** Returns what other people hold in the tenant. */
function neighboursIn(tenant: Tenant, one: NamedEntitlement): unknown {
  const { id } = [...tenant.users.values()].find(({ userPrincipalName }) => userPrincipalName === one.identity) ?? {
    id: '',
  };
  const others = (keys: string[]) => keys.filter((key) => !key.endsWith(id));
  return JSON.stringify([
    others(tenant.members.keys(tenant.clock.now)),
    others(tenant.directoryAssignments.keys(tenant.clock.now)),
    [...tenant.azureAssignments.values()].filter(({ principalId }) => principalId !== id),
    tenant.schedules.filter(({ user }) => user !== id),
  ]);
}

async function openTenant(place: PlaceName, scheduled: boolean) {
  const tenant = await startTenant();
  const standing = { group: await tenant.fresh('group'), directory: await tenant.fresh('directory') };
  tenant.members.add(`${standing.group.what} ${standing.group.userId}`, 0);
  tenant.directoryAssignments.add(`${standing.directory.what} ${standing.directory.userId}`, 0);
  const settings = scheduled ? { pim: [kinds[place]] } : {};
  const known = new Map<string, { userId: string; what: string }>();
  return {
    tenant,
    client: await tenant.client(settings),
    down: await tenant.client(settings, 'http://127.0.0.1:1'),
    plan,
    nonsense,
    sensible,
    unknownAccess: unknown[place],
    knowsIdentities: true,
    known,
    async fresh() {
      const { userId, what, ...one } = await tenant.fresh(place);
      known.set(one.id, { userId, what });
      return one;
    },
    close: async () => tenant[Symbol.asyncDispose](),
  };
}

for (const place of ['group', 'directory', 'azure'] as const) {
  conformance(vitest, `entra, ${kinds[place]} without an end`, async () => {
    const { tenant, known, ...subject } = await openTenant(place, false);
    const authorizer = { ...subject.client.authorizer };
    delete authorizer.list;
    return {
      ...subject,
      client: { ...subject.client, authorizer: authorizer as NonNullable<typeof subject.client.authorizer> },
      at: {
        async rename(one) {
          const { what = '' } = known.get(one.id) ?? {};
          const [group, role, azure] = [
            tenant.groups.get(what),
            tenant.directoryRoles.get(what),
            tenant.azureRoles.get(what),
          ];
          if (group) group.displayName = `renamed ${one.id}`;
          if (role) role.displayName = `renamed ${one.id}`;
          if (azure) azure.roleName = `renamed ${one.id}`;
          const key = Object.keys(one.access)[0] ?? '';
          return { ...one, access: { ...one.access, [key]: `renamed ${one.id}` } };
        },
        neighbours: async (one) => neighboursIn(tenant, one),
      },
    };
  });

  conformance(vitest, `entra, ${kinds[place]} with an end at Entra`, async () => {
    const { tenant, known, ...subject } = await openTenant(place, true);
    const authorizer = { ...subject.client.authorizer };
    delete authorizer.list;
    const userOf = ({ id }: NamedEntitlement) => known.get(id)?.userId ?? '';
    return {
      ...subject,
      client: { ...subject.client, authorizer: authorizer as NonNullable<typeof subject.client.authorizer> },
      at: {
        async rename(one) {
          const user = tenant.users.get(userOf(one));
          if (user) user.userPrincipalName = `renamed-${user.userPrincipalName}`;
          return { ...one, identity: user?.userPrincipalName ?? '' };
        },
        endOf: async (one) => {
          const found = tenant.schedules.find(({ user, removedAt }) => user === userOf(one) && removedAt === undefined);
          return found?.end === undefined ? undefined : new Date(found.end);
        },
        neighbours: async (one) => neighboursIn(tenant, one),
        async operate(one) {
          const user = userOf(one);
          tenant.putOff.add(user);
          return async (ending) => {
            tenant.putOff.delete(user);
            for (const request of tenant.requests) {
              if (request.user !== user || request.status !== 'PendingProvisioning') continue;
              if (ending === 'succeeds') request.apply();
              else request.status = ending === 'fails' ? 'Failed' : 'Canceled';
            }
          };
        },
      },
    };
  });
}

conformance(vitest, 'entra, a group that only Belay fills', async () => {
  const { tenant, known, ...subject } = await openTenant('group', false);
  const own = tenant.group({ displayName: 'Only ours' });
  return {
    ...subject,
    client: await tenant.client({ exclusive: ['group/Only ours'] }),
    fresh: async () => ({ ...(await subject.fresh()), access: { group: 'Only ours' } }),
    at: {
      neighbours: async (one) => neighboursIn(tenant, one),
      async stranger() {
        const user = tenant.user();
        tenant.members.add(`${own.id} ${user.id}`, tenant.clock.now);
        return { id: '', identity: user.userPrincipalName, access: { group: 'Only ours' } };
      },
    },
  };
});
