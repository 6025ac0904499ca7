import * as vitest from 'vitest';
import { type AccessRequest, oktaConnector } from '../../src/index.js';
import { conformance, type NamedEntitlement } from '../../src/testkit/index.js';
import { openOrganization } from './organization.js';

const nothing = { roles: [], permissions: { allow: [], deny: [] }, resources: { allow: [], deny: [] } };
const roles = ['group/Shop production'];

const missing = () => {
  throw new Error('no authorizer');
};

for (const renamed of ['group', 'user']) {
  conformance(vitest, `okta, where the ${renamed} is renamed`, async () => {
    const organization = await openOrganization();
    const own = await organization.group('Only ours');
    const whole = await organization.client({ exclusive: ['Only ours'] });
    // Only members of exclusive groups are listed, and a renamed group no longer matches the configured name.
    const { list: _, ...listless } = whole.authorizer ?? missing();
    const client = renamed === 'group' ? { ...whole, authorizer: listless } : whole;
    const down = await organization.client({ url: 'http://127.0.0.1:1' });
    const known = new Map<string, { groupId: string; userId: string }>();
    let made = 0;
    return {
      client,
      down,
      plan: (request: AccessRequest) => oktaConnector.plan?.(undefined as never, request) ?? { ok: false, issues: [] },
      async fresh() {
        const { groupId, userId, ...one } = await organization.fresh(renamed === 'user' ? own : undefined);
        known.set(one.id, { groupId, userId });
        return one;
      },
      nonsense: [
        { ...nothing, roles: ['Shop production'] },
        { ...nothing, roles: ['group/'] },
        { ...nothing, roles: ['group/ Shop'] },
        { ...nothing, roles: ['group/a\nb'] },
        { ...nothing, roles: ['role/READ_ONLY_ADMIN'] },
        { ...nothing, roles: [`group/${'a'.repeat(256)}`] },
        { ...nothing, roles, resources: { allow: ['shop'], deny: [] } },
        { ...nothing, roles, permissions: { allow: ['okta.users.read'], deny: [] } },
        { ...nothing, roles, permissions: { allow: [], deny: ['okta.users.read'] } },
      ],
      sensible: { ...nothing, roles },
      unknownAccess: { group: 'No such group' },
      knowsIdentities: true,
      at: {
        async rename(one: NamedEntitlement) {
          const { groupId = '', userId = '' } = known.get(one.id) ?? {};
          made += 1;
          if (renamed === 'group') {
            const name = `Renamed ${made}`;
            await organization.admin('PUT', `/api/v1/groups/${groupId}`, { profile: { name } });
            return { ...one, access: { group: name } };
          }
          const login = `renamed-${made}@example.test`;
          await organization.admin('POST', `/api/v1/users/${userId}`, { profile: { login, email: login } });
          return { ...one, identity: login };
        },
        async neighbours(one: NamedEntitlement) {
          const { groupId = '', userId = '' } = known.get(one.id) ?? {};
          const neighbour = await organization.user(`neighbour-of-${userId}@example.test`).catch(() => undefined);
          if (neighbour) await organization.admin('PUT', `/api/v1/groups/${groupId}/users/${neighbour.id}`);
          const members = await organization.members(groupId);
          return members.filter((id) => id !== userId);
        },
        async stranger() {
          const user = await organization.user();
          await organization.admin('PUT', `/api/v1/groups/${own.id}/users/${user.id}`);
          return { id: '', identity: user.login, access: { group: 'Only ours' } };
        },
      },
      close: () => organization.close(),
    };
  });
}
