import { randomBytes } from 'node:crypto';
import { serverUrl } from '@belay/testkit/database';
import postgres from 'postgres';

export interface Target extends AsyncDisposable {
  /** The URL of the target in Belay's configuration. */
  url: string;
  role: string;
  identities: string[];
  /** Returns the identities that are members of the role now, as the server itself reports. */
  members(): Promise<string[]>;
  /** The database of Belay itself, on the same server. */
  databaseUrl: string;
}

/** Creates a target on the PostgreSQL of the test run: a role to grant, and login roles for this test alone. */
export async function makeTarget(people: number): Promise<Target> {
  const suffix = randomBytes(4).toString('hex');
  const admin = postgres(serverUrl(), { max: 1, onnotice: () => {} });
  const role = `cluster_role_${suffix}`;
  const identities = Array.from({ length: people }, (_, index) => `cluster_${suffix}_${index}`);
  const databases = [`cluster_target_${suffix}`, `cluster_belay_${suffix}`];
  await admin.unsafe(`create role ${role} nologin`);
  for (const identity of identities) await admin.unsafe(`create role ${identity} login password '${suffix}'`);
  for (const database of databases) await admin.unsafe(`create database ${database}`);
  const withDatabase = (database: string) => {
    const url = new URL(serverUrl());
    url.pathname = `/${database}`;
    return url.href;
  };
  return {
    url: withDatabase(databases[0] ?? ''),
    databaseUrl: withDatabase(databases[1] ?? ''),
    role,
    identities,
    async members() {
      const rows = await admin<{ name: string }[]>`
        select distinct member.rolname as name from pg_auth_members
        join pg_roles granted on granted.oid = roleid join pg_roles member on member.oid = member
        where granted.rolname = ${role} and member.rolname = any(${identities}) order by 1`;
      return rows.map(({ name }) => name);
    },
    async [Symbol.asyncDispose]() {
      for (const database of databases) await admin.unsafe(`drop database if exists ${database} with (force)`);
      for (const name of [...identities, role]) await admin.unsafe(`drop role if exists ${name}`);
      await admin.end();
    },
  };
}

/**
 * Returns a configuration with the target and a role `reader`, which is granted after the tasks of `before`; without such tasks no
 * approval is needed. `roles` and `workflows` are appended.
 */
export function readerConfiguration(target: Target, { before = '', roles = '', workflows = '' } = {}): string {
  return `
server: { limits: { requests_per_hour: 10000 } }
providers:
  target:
    provider: postgres
    config: { url: '\${env:TARGET_URL}', identity: username, email_domains: [example.com] }
roles:
  reader:
    providers: [target]
    inherits: ['target:${target.role}']
    permissions: { groups: [engineers] }
    workflows: [read]${roles}
workflows:
  read:
    workflow:
      document: { dsl: '1.0.3', namespace: test, name: read, version: 1.0.0 }
      do:${before}
        - grant: { call: access.grant }
        - hold: { call: access.hold }${workflows}
`;
}
