import { Terminal } from '../errors.js';
import { type Account, markStart, type Subject } from './accounts.js';
import type { MysqlConfig } from './config.js';
import type { Statements } from './database.js';

/** Why a role counts as privileged, as the end of "The role …". */
export const reasons = {
  server: 'has privileges on the whole server (ON *.*)',
  system: 'has privileges on a schema of the server, or on the one of the connector',
  option: 'holds privileges with grant option, which its holder can grant to others',
  create: 'can create or alter tables, views, routines, triggers or events, which remain after the access ends',
  admin: 'can be granted to others by its holder, or lets its holder grant another role (admin option)',
} as const;

type Reason = keyof typeof reasons;

/** Privileges to read and write, with which nothing can be created that remains. All others count as privileged. */
const plain = new Set([
  ...['select', 'insert', 'update', 'delete', 'drop', 'index', 'execute', 'show view'],
  ...['create tmp table', 'lock tables', 'delete history', 'delete versioning rows', 'show create routine'],
]);

/** Bits of global privileges, as MariaDB stores them and the view `accounts` shows them. */
const bit = {
  select: 0,
  process: 8,
  showDatabases: 14,
  createTemporary: 16,
  lockTables: 17,
  execute: 18,
  showView: 22,
};
const maskOf = (...bits: number[]) => bits.reduce((sum, one) => sum + 2 ** one, 0);
/** What a role may have on the whole server. */
const harmlessToAll = maskOf(bit.showDatabases);
/** What a person may have on the whole server beside the role: nothing that changes accounts, sessions or system tables. */
const harmlessOfPeople = maskOf(...Object.values(bit));

interface Right {
  /** The privileges, such as `select` or `grant`. */
  names: string[];
  isSystem: boolean;
}

/** Throws `Terminal` when the role must not be granted to the account. */
export async function refuse(sql: Statements, config: MysqlConfig, { role }: Subject, account: Account): Promise<void> {
  const [me] = await sql.rows<Account>(
    "select left(current_user(), char_length(current_user()) - locate('@', reverse(current_user()))) as user, '' as host",
  );
  if (me?.user === account.user) throw new Terminal('The account is the database user of the connector');
  await refuseSeveral(sql, account);
  if (!config.allow_privileged_roles) {
    const reason = await findReason(sql, role);
    if (reason) {
      throw new Terminal(`The role ${reasons[reason]}; to permit this, set allow_privileged_roles for the provider`);
    }
    if (await isOperator(sql, account)) {
      throw new Terminal(
        'The account has privileges on the whole server, with which it could undo a revocation; ' +
          'to permit this, set allow_privileged_roles for the provider',
      );
    }
  }
  if (!config.accept_objects_left_behind && (await canBuild(sql, account))) {
    throw new Terminal(
      'The account can create or alter tables, views or routines, also by privileges of PUBLIC, and could keep the access in them; ' +
        'to permit this, set accept_objects_left_behind for the provider',
    );
  }
}

/** Throws `Terminal` when the user has several accounts: the server shows a session's user but not which account it uses. */
async function refuseSeveral(sql: Statements, { user }: Account): Promise<void> {
  const accounts = await sql.rows('select 1 from accounts where user = ? and not is_role', [user]);
  if (accounts.length > 1) {
    throw new Terminal('The user has accounts for several hosts, whose sessions the server does not distinguish');
  }
}

/** Returns why the role counts as privileged, or null when it does not. */
export async function findReason(sql: Statements, role: string): Promise<Reason | null> {
  const { roles, hasAdmin } = await readReach(sql, [role]);
  if (hasAdmin) return 'admin';
  const [server] = await sql.rows('select 1 from accounts where is_role and user in (?) and privileges & ~? <> 0', [
    roles,
    harmlessToAll,
  ]);
  if (server) return 'server';
  for (const { names, isSystem } of await readRights(sql, roles)) {
    if (names.includes('grant')) return 'option';
    if (isSystem) return 'system';
    if (names.some((name) => !plain.has(name))) return 'create';
  }
  return null;
}

async function isOperator(sql: Statements, { user, host }: Account): Promise<boolean> {
  const roles = await readRolesOf(sql, { user, host });
  const rows = await sql.rows(
    'select 1 from accounts where ((user = ? and host = ?) or (is_role and user in (?))) and privileges & ~? <> 0',
    [user, host, roles, harmlessOfPeople],
  );
  return rows.length > 0;
}

async function canBuild(sql: Statements, account: Account): Promise<boolean> {
  const roles = await readRolesOf(sql, account);
  const rights = await readRights(sql, [...roles, account.user, '', 'PUBLIC']);
  return rights.some(({ names }) => names.some((name) => !plain.has(name)));
}

/** Returns the roles that an account already has, directly or through other roles, and PUBLIC, which every account has. */
async function readRolesOf(sql: Statements, { user, host }: Account): Promise<string[]> {
  const own = await sql.rows<{ role: string }>('select role from memberships where user = ? and host = ?', [
    user,
    host,
  ]);
  const { roles } = await readReach(sql, [...own.map(({ role }) => role), 'PUBLIC']);
  return roles;
}

/** Returns the given roles with all roles that they include, and whether a holder may grant one of those to others. */
async function readReach(sql: Statements, start: string[]): Promise<{ roles: string[]; hasAdmin: boolean }> {
  const edges = await sql.rows<{ role: string; user: string; admin: number }>(
    "select role, user, admin from memberships where host = ''",
  );
  const reached = new Set(start);
  let hasAdmin = false;
  for (const role of reached) {
    for (const edge of edges.filter(({ user }) => user === role)) {
      reached.add(edge.role);
      hasAdmin ||= Number(edge.admin) === 1;
    }
  }
  return { roles: [...reached], hasAdmin };
}

/** Returns the privileges of these users and roles on schemas, tables, columns and routines, without our marks. */
async function readRights(sql: Statements, grantees: string[]): Promise<Right[]> {
  const system = "('mysql' like Db or 'sys' like Db or 'performance_schema' like Db or database() like Db) as `system`";
  const where = `User in (?) and Db not like '${markStart}%'`;
  const schemas = await sql.rows<Record<string, unknown>>(`select d.*, ${system} from mysql.db d where ${where}`, [
    grantees,
  ]);
  const others = await sql.rows<{ names: string; system: number }>(
    `select lower(Table_priv) as names, ${system} from mysql.tables_priv where ${where}
     union all select lower(Column_priv), ${system} from mysql.columns_priv where ${where}
     union all select lower(Proc_priv), ${system} from mysql.procs_priv where ${where}`,
    [grantees, grantees, grantees],
  );
  const listed = others.map((one) => ({
    names: one.names.split(',').filter((name) => name !== ''),
    isSystem: Number(one.system) === 1,
  }));
  return [...schemas.map(readSchemaRight), ...listed];
}

/** Returns the privileges in a row of `mysql.db`, which has a column for each; newer servers have more columns. */
function readSchemaRight(row: Record<string, unknown>): Right {
  const names = Object.entries(row)
    .filter(([column, value]) => column.endsWith('_priv') && value === 'Y')
    .map(([column]) =>
      column
        .replace(/_priv$/, '')
        .replaceAll('_', ' ')
        .toLowerCase(),
    );
  return { names, isSystem: Number(row.system) === 1 };
}
