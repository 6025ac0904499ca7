import * as vitest from 'vitest';
import { type AccessRequest, githubConnector } from '../../src/index.js';
import { conformance, type NamedEntitlement } from '../../src/testkit/index.js';
import { entitlement, openOrganization } from './github.js';

const nothing = { roles: [], permissions: { allow: [], deny: [] }, resources: { allow: [], deny: [] } };
const shop = { allow: ['acme/shop'], deny: [] };

const kinds = {
  'teams of github': { access: { role: 'team/oncall' }, unknown: { role: 'team/no-such-team' } },
  'roles in repositories of github': {
    access: { role: 'repo-role/maintain', repository: 'acme/shop' },
    unknown: { role: 'repo-role/maintain', repository: 'acme/no-such-repository' },
  },
  'organization roles of github': {
    access: { role: 'org-role/all_repo_read' },
    unknown: { role: 'org-role/no-such-role' },
  },
};

for (const [name, { access, unknown }] of Object.entries(kinds)) {
  conformance(vitest, name, async () => {
    const organization = await openOrganization();
    const { github, admin, repository, role } = organization;
    const exclusive = ['team/oncall', 'org-role/all_repo_read', 'acme/shop'];
    const down = await organization.client({}, 'http://127.0.0.1:1');
    let shopName = 'shop';

    /** Restores the names that a test has changed. */
    async function restore() {
      github.world.renameTeam('oncall', 'oncall');
      if (shopName !== 'shop') await admin('PATCH', `/repos/acme/${shopName}`, { name: 'shop' });
      shopName = 'shop';
    }

    return {
      client: await organization.client({ exclusive }),
      down,
      plan: (request: AccessRequest) =>
        githubConnector.plan?.(organization.config(), request) ?? { ok: false, issues: [] },
      async fresh() {
        await restore();
        const { id } = await organization.person();
        return entitlement(id, access);
      },
      nonsense: [
        { ...nothing, roles: ['oncall'] },
        { ...nothing, roles: ['team/'] },
        { ...nothing, roles: ['team/../x'] },
        { ...nothing, roles: ['team/a/b'] },
        { ...nothing, roles: ['org-role/'] },
        { ...nothing, roles: ['repo-role/maintain'] },
        { ...nothing, roles: ['repo-role/custom'], resources: shop },
        { ...nothing, roles: ['repo-role/admin'], resources: shop },
        { ...nothing, roles: ['repo-role/read', 'repo-role/write'], resources: shop },
        { ...nothing, roles: ['repo-role/read'], resources: { allow: ['shop'], deny: [] } },
        { ...nothing, roles: ['repo-role/read'], resources: { allow: ['acme/..'], deny: [] } },
        { ...nothing, roles: ['repo-role/read'], resources: { allow: ['acme/shop'], deny: ['acme/dev'] } },
        { ...nothing, roles: ['team/oncall'], resources: shop },
        { ...nothing, roles: ['team/oncall'], permissions: { allow: ['push'], deny: [] } },
        { ...nothing, roles: ['team/oncall'], permissions: { allow: [], deny: ['push'] } },
      ],
      sensible: {
        ...nothing,
        roles: ['team/oncall', 'org-role/all_repo_read', 'repo-role/maintain'],
        resources: { allow: ['acme/shop', 'acme/dev'], deny: [] },
      },
      unknownAccess: unknown,
      knowsIdentities: true,
      at: {
        async rename(one: NamedEntitlement) {
          const login = String((await github.find(Number(one.identity)))?.login);
          github.world.renameUser(login, `${login}-renamed`);
          if ('repository' in one.access) {
            shopName = 'store';
            await admin('PATCH', '/repos/acme/shop', { name: shopName });
            return { ...one, access: { ...one.access, repository: 'acme/store' } };
          }
          if (one.access.role !== 'team/oncall') return one;
          github.world.renameTeam('oncall', 'on-duty');
          return { ...one, access: { role: 'team/on-duty' } };
        },
        async neighbours({ identity }: NamedEntitlement) {
          const login = (await github.find(Number(identity)))?.login;
          return (await organization.held()).filter((line) => !line.split(' ').includes(`${login}`));
        },
        async stranger() {
          await restore();
          const { login, id } = await organization.person();
          await admin('PUT', `/orgs/acme/teams/oncall/memberships/${login}`, { role: 'member' });
          github.world.setDirect(String(repository), login, 'maintain');
          github.world.setRole(String(role), login, true);
          return entitlement(id, access);
        },
      },
      close: () => organization.close(),
    };
  });
}
