import * as vitest from 'vitest';
import { type AccessRequest, mysqlConnector } from '../../src/index.js';
import { conformance } from '../../src/testkit/index.js';
import { attacks } from './attacks.js';
import { openHostileServer } from './hostile-server.js';
import { openServer } from './server.js';

/** The value of BELAY_TEST_HOSTILE_SECONDS; by default a minute in CI, and 2 s elsewhere. */
const watchSeconds = Number(process.env.BELAY_TEST_HOSTILE_SECONDS ?? (process.env.CI ? 60 : 2));
const nothing = { roles: [], permissions: { allow: [], deny: [] }, resources: { allow: [], deny: [] } };

async function open() {
  const server = await openServer();
  const exclusive = await server.role('only_by_belay');
  const config = mysqlConnector.config.parse({
    url: 'mysql://no:one@127.0.0.1:1/belay',
    email_domains: ['example.test'],
  });
  const down = await mysqlConnector.create(config, { now: Date.now, log: () => {} });
  const read = async (query: string, values: unknown[] = []) => (await server.admin.query(query, values))[0];
  return {
    client: await server.client({ exclusive: [exclusive] }),
    down,
    plan: (request: AccessRequest) => mysqlConnector.plan?.(config, request) ?? { ok: false, issues: [] },
    async fresh() {
      const [role, { identity }] = [await server.role(), await server.login()];
      return { id: `entitlement of ${identity}`, identity, access: { role } };
    },
    nonsense: [
      { ...nothing, roles: ['x`; drop role y'] },
      { ...nothing, roles: ['a'.repeat(129)] },
      { ...nothing, roles: ['ünïcødé'] },
      { ...nothing, roles: [''] },
      { ...nothing, roles: ['reader '] },
      { ...nothing, roles: ['PUBLIC'] },
      { ...nothing, roles: ['none'] },
      { ...nothing, roles: ['reader'], permissions: { allow: ['SELECT'], deny: [] } },
      { ...nothing, roles: ['reader'], permissions: { allow: [], deny: ['SELECT'] } },
      { ...nothing, roles: ['reader'], resources: { allow: ['app.*'], deny: [] } },
      { ...nothing, roles: ['reader'], resources: { allow: [], deny: ['app.*'] } },
    ],
    sensible: { ...nothing, roles: ['reader', 'Reporting read-only', 'app.read'] },
    unknownAccess: { role: 'no-such-role' },
    knowsIdentities: true,
    at: {
      async rename(one: { id: string; identity: string; access: Record<string, unknown> }) {
        const user = one.identity.split('@')[0] ?? '';
        await server.admin.query(`rename user ${user}@'%' to renamed_${user}@'127.0.0.%'`);
        return { ...one, identity: `renamed_${user}@127.0.0.%` } as never;
      },
      async neighbours({ identity }: { identity: string }) {
        const user = identity.split('@')[0];
        return [
          await read('select * from mysql.global_priv order by 1, 2'),
          await read('select * from mysql.roles_mapping where User <> ? order by 1, 2, 3', [user]),
          await read('select * from mysql.db where User <> ? order by 1, 2, 3', [user]),
        ];
      },
      async stranger() {
        const { user, identity } = await server.login();
        await server.admin.query(`grant ${exclusive} to ${user}@'%'`);
        return { id: '', identity, access: { role: exclusive } };
      },
    },
    async close() {
      await down.close();
      await server.close();
    },
  };
}

conformance(vitest, 'mysql', open, { open: openHostileServer, attacks, watchSeconds });
