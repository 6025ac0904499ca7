import { randomBytes } from 'node:crypto';
import postgres from 'postgres';

/**
 * A database of the test server with a table that only the role `reader` reads. The database and the roles that it
 * makes have random names.
 */
export interface TestServer {
  version: number;
  admin: postgres.Sql;
  database: string;
  /** Returns the URL of the database for a user, or for the superuser when no user is given. */
  url(user?: { name: string; password: string }): string;
  /** Makes a role and returns its name; `options` are those of `create role`. */
  role(options?: string): Promise<string>;
  /** Makes a login role with a password. */
  login(options?: string): Promise<{ name: string; password: string }>;
  /** Connects to another database of the server as the superuser; the caller must close the connection. */
  connectTo(database: string): postgres.Sql;
  /** Connects as a login role; the connection is closed with the server. */
  connect(user: { name: string; password: string }): postgres.Sql;
  close(): Promise<void>;
}

/** Makes a database with a superuser's URL: by default the one in BELAY_TEST_DATABASE_URL, which the test run provides. */
export async function openTestServer(superuser = process.env.BELAY_TEST_DATABASE_URL): Promise<TestServer> {
  if (!superuser) throw new Error('BELAY_TEST_DATABASE_URL must be the URL of a superuser of a PostgreSQL server');
  const suffix = randomBytes(6).toString('hex');
  const database = `providers_${suffix}`;
  const root = postgres(superuser, { max: 1, onnotice: () => {} });
  await root.unsafe(`create database ${database}`);
  const url = (user?: { name: string; password: string }) => {
    const made = new URL(superuser);
    made.pathname = `/${database}`;
    if (user) {
      made.username = encodeURIComponent(user.name);
      made.password = encodeURIComponent(user.password);
    }
    return made.href;
  };
  const admin = postgres(url(), { max: 2, onnotice: () => {} });
  const [row] = await admin<[{ version: number }]>`select current_setting('server_version_num')::int as version`;
  const roles: string[] = [];
  const connections: postgres.Sql[] = [];
  const role = async (options = '') => {
    const name = `r${roles.length}_${suffix}`;
    await admin.unsafe(`create role ${name} ${options}`);
    roles.push(name);
    return name;
  };
  return {
    version: row.version,
    admin,
    database,
    url,
    role,
    async login(options = '') {
      const password = randomBytes(12).toString('hex');
      return { name: await role(`login password '${password}' ${options}`), password };
    },
    connectTo: (name) => postgres(url().replace(`/${database}`, `/${name}`), { max: 1, onnotice: () => {} }),
    connect(user) {
      const sql = postgres(url(user), { max: 1, onnotice: () => {}, idle_timeout: 0, fetch_types: false });
      connections.push(sql);
      return sql;
    },
    async close() {
      await Promise.all(connections.map((one) => one.end({ timeout: 1 })));
      await admin.end({ timeout: 1 });
      await root.unsafe(`drop database ${database} with (force)`);
      // Grants depend on their grantors, so the role that was made last is dropped first.
      for (const name of roles.reverse()) {
        await root.unsafe(`drop owned by ${name} cascade`);
        await root.unsafe(`drop role ${name}`);
      }
      await root.end({ timeout: 1 });
    },
  };
}
