import { readFile } from 'node:fs/promises';
import { type MariadbTarget, startTarget } from '@belay/targets';
import { type Connection, createConnection } from 'mysql2/promise';
import { mysqlConnector, type ProviderClient } from '../../src/index.js';
import { type ByNames, byNames } from '../../src/testkit/index.js';

/** A person's account, with its connections. */
export interface Login {
  user: string;
  identity: string;
  connect(): Promise<Connection>;
  close(): Promise<void>;
}

/** A new MariaDB that was set up with the statements of the example, with a table that only roles may read. */
export interface MysqlServer {
  target: MariadbTarget;
  admin: Connection;
  password: string;
  /** The address for the connector's user. */
  url: string;
  client(config?: Record<string, unknown>): Promise<ProviderClient>;
  authorizer(config?: Record<string, unknown>): Promise<ByNames>;
  /** Makes a role that reads the table, and that the connector may grant. */
  role(name?: string): Promise<string>;
  login(user?: string): Promise<Login>;
  /** Connects as the connector's user. */
  connectAsBelay(): Promise<Connection>;
  close(): Promise<void>;
}

const setupFile = new URL('../../../../examples/connectors/mysql-setup.sql', import.meta.url);
const password = 'the-password-of-belay';

/** Returns a server with these further options. */
export async function openServer(settings: readonly string[] = []): Promise<MysqlServer> {
  const target = await startTarget('mariadb', { settings });
  const admin = await createConnection({ socketPath: target.socket, user: target.admin, multipleStatements: true });
  await admin.query((await readFile(setupFile, 'utf8')).replace('change-me', password));
  await admin.query(`
    create database app; create table app.report (answer int); insert into app.report values (42);
    create database scratch;
    revoke all on test.* from public; revoke all on \`test\\_%\`.* from public`);
  const [nameless] = await admin.query("select Host as host from mysql.global_priv where User = ''");
  for (const { host } of nameless as { host: string }[]) await admin.query(`drop user ''@'${host}'`);
  const url = `mysql://belay:${password}@127.0.0.1:${target.port}/belay`;
  const clients: ProviderClient[] = [];
  const logins: Login[] = [];
  let made = 0;
  const client = async (config: Record<string, unknown> = {}) => {
    const parsed = mysqlConnector.config.parse({ url, email_domains: ['example.test'], ...config });
    const opened = await mysqlConnector.create(parsed, { now: Date.now, log: () => {} });
    clients.push(opened);
    return opened;
  };
  return {
    target,
    admin,
    password,
    url,
    client,
    async authorizer(config) {
      const { authorizer } = await client(config);
      if (!authorizer) throw new Error('the connector has no authorizer');
      return byNames(authorizer);
    },
    connectAsBelay: () => createConnection({ host: '127.0.0.1', port: target.port, user: 'belay', password }),
    async role(name = `role_${made++}`) {
      await admin.query(`create role \`${name}\`; grant \`${name}\` to belay@'%' with admin option;
        grant select, lock tables on app.* to \`${name}\``);
      return name;
    },
    async login(user = `person_${made++}`) {
      await admin.query(`create user \`${user}\`@'%' identified by '${password}'`);
      const open = new Set<Connection>();
      const login = {
        user,
        identity: `${user}@%`,
        async connect() {
          const connection = await createConnection({ host: '127.0.0.1', port: target.port, user, password });
          connection.on('error', () => {});
          open.add(connection);
          return connection;
        },
        async close() {
          for (const one of open) one.destroy();
          open.clear();
        },
      };
      logins.push(login);
      return login;
    },
    async close() {
      await Promise.all([...clients.map((one) => one.close()), ...logins.map((one) => one.close())]);
      admin.destroy();
      await target[Symbol.asyncDispose]();
    },
  };
}

/** Returns whether a person reads the table with the role, over a new connection. */
export async function canRead(login: Login, role: string): Promise<boolean> {
  const connection = await login.connect().catch(() => undefined);
  if (!connection) return false;
  const read =
    (await tryTo(connection, `set role \`${role}\``)) && (await tryTo(connection, 'select * from app.report'));
  connection.destroy();
  return read;
}

/** Runs a statement that may be rejected, and returns whether it succeeded. */
export async function tryTo(connection: Connection, statement: string): Promise<boolean> {
  return connection.query(statement).then(
    () => true,
    () => false,
  );
}
