import { Terminal } from '../errors.js';
import type { Weakness } from '../port.js';
import { markStart, readTarget } from './accounts.js';
import type { Statements } from './database.js';
import { toPortError } from './faults.js';

/** The tables that the connector reads, with columns that a wrong or outdated setup does not have. */
const read = {
  accounts: 'user, host, is_role, privileges, since',
  memberships: 'role, user, host, admin',
  routines: 'db, name, definer',
  'mysql.db': 'Db, User, Host',
  'mysql.tables_priv': 'Db, User, Table_priv',
  'mysql.columns_priv': 'Db, User, Column_priv',
  'mysql.procs_priv': 'Db, User, Proc_priv',
  'mysql.proxies_priv': 'User, Proxied_user',
};

/** Throws `Terminal` that names the tables or privileges which the connector's user needs and does not have. */
export async function checkSetup(sql: Statements): Promise<void> {
  await readTarget(sql);
  const missing: string[] = [];
  for (const [table, columns] of Object.entries(read)) {
    try {
      await sql.rows(`select ${columns} from ${table} limit 1`);
    } catch (error) {
      if (!(toPortError(error) instanceof Terminal)) throw error;
      missing.push(table);
    }
  }
  if (missing.length > 0) throw new Terminal(`The connector's database user cannot read ${missing.join(', ')}`);
  await requirePrivileges(sql);
}

/**
 * Throws `Terminal` when this connection cannot see the sessions and views of other users, because it would then find
 * nothing to end.
 * Tries a statement for each privilege, because a connection keeps the privileges that its user had when it was opened.
 */
export async function requireSight(sql: Statements): Promise<void> {
  for (const [privilege, statement] of [
    ['PROCESS', 'select 1 from information_schema.innodb_trx limit 1'],
    ['SHOW VIEW', 'show create view accounts'],
  ] as const) {
    await sql.rows(statement).catch((error: unknown) => {
      const fault = toPortError(error);
      if (!(fault instanceof Terminal)) throw fault;
      throw new Terminal(
        `The connector's database user lacks ${privilege}, without which it does not see what to end`,
        {
          cause: error,
        },
      );
    });
  }
}

/** Throws `Terminal` with the privileges that the connector's user lacks. */
export async function requirePrivileges(sql: Statements): Promise<void> {
  const lacking = await readLacking(sql);
  if (lacking.length > 0) throw new Terminal(`The connector's database user lacks ${lacking.join(', ')}`);
}

/** Returns weaknesses of the setup: ways in which access outlives its end, and privileges that the connector does not need. */
export async function findWeaknesses(sql: Statements): Promise<Weakness[]> {
  const grants = await readGrants(sql);
  const found: Weakness[] = [];
  const tooMuch = ['SUPER', 'CREATE USER', 'ALL PRIVILEGES', 'FILE', 'RELOAD'].filter((name) =>
    grants.some((line) => line.includes(' ON *.* ') && line.split(' ON *.* ')[0]?.includes(name)),
  );
  if (tooMuch.length > 0) {
    found.push({
      message: `the connector's database user has ${tooMuch.join(', ')}, which it does not need`,
      cure: 'revoke it, and grant only what docs/connectors/mysql.md lists',
    });
  }
  const [server] = await sql
    .rows<{ name: string; value: string }>(
      "select variable_name as name, variable_value as value from information_schema.global_variables where variable_name = 'wsrep_on' and variable_value in ('ON', '1')",
    )
    .catch(() => []);
  if (server) {
    found.push({
      message: 'the server is a node of a Galera cluster: connections to its other nodes are not ended',
      cure: 'have people connect to the node that the provider names, and to no other',
    });
  }
  const copied = await findReplication(sql);
  if (copied) found.push(copied);
  const [another] = await sql.rows<{ user: string }>(
    "select concat(User, '@', Host) as user from mysql.db where Db = ? and concat(User, '@', Host) <> current_user() limit 1",
    [`${markStart}%`],
  );
  if (another) {
    found.push({
      message: `the server is set up for another connector of Belay too, with the user ${another.user}: with two schemas, Belay cannot know that they lead to one server`,
      cure: 'give both providers the same schema, or drop the user that is not needed any more',
    });
  }
  const rights = grants
    .filter((line) => line.includes('`.`mark`') || /^GRANT ALL PRIVILEGES ON \*\.\*/.test(line))
    .join();
  if (!rights.includes('ALL PRIVILEGES') && !['INSERT', 'UPDATE'].every((right) => rights.includes(right))) {
    found.push({
      message: 'the connector cannot write its mark, by which a copy of the server is told from the server',
      cure: 'create the table mark of the setup in the connector’s schema, and grant insert and update on it',
    });
  }
  const [everybody] = await sql.rows(
    "select 1 from mysql.db where User in ('', 'PUBLIC') and 'Y' in (Create_priv, Create_view_priv)",
  );
  if (everybody) {
    found.push({
      message: 'every account can create tables or views in some schema, so no account is granted a role',
      cure: 'run mariadb-secure-installation, or revoke the privileges on test and test\\_% from PUBLIC',
    });
  }
  return found;
}

/** Returns a weakness when the server is writable and takes its content from another one, so that it may lag behind. */
async function findReplication(sql: Statements): Promise<Weakness | undefined> {
  const rows = await sql.rows(
    "select 1 from information_schema.processlist where user = 'system user' and command like 'Slave%' limit 1",
  );
  if (rows.length === 0) return undefined;
  return {
    message: 'the server is writable and replicates from another one: what it returns may be outdated',
    cure: 'let the provider name the server that people change, and set read_only on its replicas',
  };
}

/** Returns the privileges that the connector's user lacks. */
async function readLacking(sql: Statements): Promise<string[]> {
  const grants = await readGrants(sql);
  const has = (pattern: RegExp) => grants.some((line) => pattern.test(line));
  const everything = has(/^GRANT ALL PRIVILEGES ON \*\.\*/);
  const wanted: [string, RegExp][] = [
    ['PROCESS', /^GRANT [^`]*\bPROCESS\b[^`]* ON \*\.\*/],
    ['SHOW VIEW', /^GRANT [^`]*\bSHOW VIEW\b[^`]* ON \*\.\*/],
    ['CONNECTION ADMIN', /^GRANT [^`]*\b(CONNECTION[ _]ADMIN|SUPER)\b[^`]* ON \*\.\*/],
  ];
  const lacking = everything ? [] : wanted.filter(([, pattern]) => !has(pattern)).map(([privilege]) => privilege);
  const marks = grants.some((line) => line.includes(`ON \`${markStart}%\`.* `) && line.endsWith('WITH GRANT OPTION'));
  return marks ? lacking : [...lacking, `REFERENCES ON \`${markStart}%\`.* WITH GRANT OPTION`];
}

async function readGrants(sql: Statements): Promise<string[]> {
  const rows = await sql.rows<Record<string, string>>('show grants');
  return rows.flatMap((row) => Object.values(row));
}
