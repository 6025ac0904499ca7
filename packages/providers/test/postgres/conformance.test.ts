import * as vitest from 'vitest';
import { type AccessRequest, postgresConnector } from '../../src/index.js';
import { conformance } from '../../src/testkit/index.js';
import { attacks } from './hostile/attacks.js';
import { openHostileServer } from './hostile/server.js';
import { openTestServer } from './server.js';

/** The value of BELAY_TEST_HOSTILE_SECONDS; by default a minute in CI, and 2 s elsewhere, so that `npm test` is fast. */
const watchSeconds = Number(process.env.BELAY_TEST_HOSTILE_SECONDS ?? (process.env.CI ? 60 : 2));
const brief = watchSeconds < 60;
const tools = { now: Date.now, log: () => {} };
const nothing = { roles: [], permissions: { allow: [], deny: [] }, resources: { allow: [], deny: [] } };

for (const privileges of ['superuser', 'createrole']) {
  const open = async () => {
    const server = await openTestServer();
    const user = await server.login(privileges);
    await server.admin.unsafe(`grant pg_signal_backend to ${user.name}`);
    const config = postgresConnector.config.parse({
      url: server.url(user),
      email_domains: ['example.test'],
      accept_objects_left_behind: server.version < 160_000,
    });
    const nobody = postgresConnector.config.parse({
      url: 'postgres://nobody:secret@127.0.0.1:1/nowhere',
      email_domains: ['example.test'],
    });
    const client = postgresConnector.create(config, tools);
    const down = postgresConnector.create(nobody, tools);
    return {
      client,
      down,
      plan: (request: AccessRequest) => postgresConnector.plan?.(config, request) ?? { ok: false, issues: [] },
      async fresh() {
        const [role, { name }] = [await server.role(), await server.login()];
        // PostgreSQL 16 and newer let a user grant only what it may administer.
        if (privileges === 'createrole') await server.admin.unsafe(`grant ${role} to ${user.name} with admin option`);
        return { id: `entitlement of ${name}`, identity: name, access: { role } };
      },
      nonsense: [
        { ...nothing, roles: ['x"; drop role y'] },
        { ...nothing, roles: ['a'.repeat(64)] },
        { ...nothing, roles: ['zero\u200bwidth'] },
        { ...nothing, roles: [''] },
        { ...nothing, roles: ['reader'], permissions: { allow: ['SELECT'], deny: [] } },
        { ...nothing, roles: ['reader'], permissions: { allow: [], deny: ['SELECT'] } },
        { ...nothing, roles: ['reader'], resources: { allow: ['table'], deny: [] } },
        { ...nothing, roles: ['reader'], resources: { allow: [], deny: ['table'] } },
      ],
      sensible: { ...nothing, roles: ['reader', 'Reporting read-only', 'jane.doe@example', 'réservé', '数据库只读'] },
      unknownAccess: { role: 'no-such-role' },
      knowsIdentities: true,
      async close() {
        await Promise.all([client.close(), down.close()]);
        await server.close();
      },
    };
  };
  // The attacks run against the recommended setup, in which the connector is not a superuser.
  const hostile = privileges === 'createrole' ? { open: openHostileServer, attacks, watchSeconds, brief } : undefined;
  conformance(vitest, `postgres as ${privileges}`, open, hostile);
}
