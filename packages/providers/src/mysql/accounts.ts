import { createHash } from 'node:crypto';
import { z } from 'zod';
import { OtherTarget, Terminal } from '../errors.js';
import type { Entitlement, Named } from '../port.js';
import { grantedRole, isPossibleName } from './config.js';
import type { Statements } from './database.js';

/** An account of the server. */
export interface Account {
  user: string;
  host: string;
}

/**
 * The stored identifiers of a role and an account. The server has no ids for accounts, so `since`, the time when the password was
 * last set, tells an account from a later one of the same name. While the access is held, the mark identifies the account instead.
 */
const pinned = z.strictObject({ role: z.string(), user: z.string(), host: z.string(), since: z.int() });
type Pinned = z.infer<typeof pinned>;

/**
 * The role and the accounts of an entitlement: one account, several when an administrator copied it with its
 * privileges, or none when it does not exist.
 */
export interface Subject {
  role: string;
  roleExists: boolean;
  accounts: Account[];
  /** The account under the name that it had when it was pinned. */
  named: Account;
  /** Whether the accounts have the mark of this entitlement. */
  isMarked: boolean;
  /** Whether the named account still is the one that was pinned. */
  isSame: boolean;
}

/** Returns the server's fingerprint, which the setup stored in the connector's schema. Replicas and copies share it. */
export async function readTarget(sql: Statements): Promise<string> {
  const rows = await sql.rows<{ id: string }>('select id from target');
  const [row] = rows;
  if (!row || rows.length > 1)
    throw new Terminal('The table target of the connector’s schema must have exactly one row');
  return row.id;
}

/** Returns an account as an identity: `user@host`. */
export function identityOf({ user, host }: Account): string {
  return `${user}@${host}`;
}

/** Returns the account that an identity names, or null when the identity cannot be the name of an account. */
export function accountOf(identity: string): Account | null {
  const at = identity.lastIndexOf('@');
  const account = { user: identity.slice(0, at), host: identity.slice(at + 1) };
  return at > 0 && isPossibleName(account.user) && isPossibleHost(account.host) ? account : null;
}

/** Returns an account as SQL, quoted. Throws for a name that cannot be that of an account. */
export function quoteAccount({ user, host }: Account): string {
  if (!accountOf(`${user}@${host}`)) throw new Error('Not a valid name of an account');
  return `\`${user.replaceAll('`', '``')}\`@\`${host}\``;
}

/** Returns the identifiers of a role and an account with these names, or null when one of them does not exist. */
export async function findPinned(sql: Statements, named: Named): Promise<Pinned | null> {
  const { role } = readAccess(named);
  const account = accountOf(named.identity);
  if (!account || !isPossibleName(role) || !(await hasRole(sql, role))) return null;
  const since = await readSince(sql, account);
  return since === null ? null : { role, ...account, since };
}

/** Returns the role and the accounts of an entitlement, by its mark and its pin. Throws `OtherTarget` at another target. */
export async function findSubject(sql: Statements, { id, pin }: Entitlement): Promise<Subject> {
  const subject = pinned.safeParse(pin.subject);
  if (!subject.success) throw new Terminal('The stored identifiers are not those of a role and an account');
  if ((await readTarget(sql)) !== pin.target) throw new OtherTarget();
  const { role, user, host, since } = subject.data;
  const named = { user, host };
  const marked = await sql.rows<Account>(
    'select a.user, a.host from mysql.db d join accounts a on a.user = d.User and a.host = d.Host where d.Db = ?',
    [markOf(id, role)],
  );
  const now = await readSince(sql, named);
  const accounts = marked.length > 0 ? marked : now === null ? [] : [named];
  return {
    role,
    roleExists: await hasRole(sql, role),
    accounts,
    named,
    isMarked: marked.length > 0,
    isSame: now === since,
  };
}

/** The prefix of every mark. A mark is the name of a schema that does not exist; its last part is a hash of the role's name. */
export const markStart = 'belay:';

/**
 * Returns the mark of an entitlement: the name of a schema that does not exist. A privilege on this schema marks the account. A
 * renamed account keeps its privileges and a dropped account loses them, so the mark stays with the account.
 */
export function markOf(id: string, role: string): string {
  const own = /^[a-z0-9-]{1,40}$/.test(id) ? id : digest(id).slice(0, 40);
  return `${markStart}${own}:${markOfRole(role)}`;
}

export function markOfRole(role: string): string {
  return digest(role).slice(0, 12);
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Returns the role that an access names. Throws `Terminal` when the access is not one of this connector. */
function readAccess({ access }: Pick<Named, 'access'>): { role: string } {
  const granted = grantedRole.safeParse(access);
  if (!granted.success) throw new Terminal('The access is not a role of the server');
  return granted.data;
}

export async function hasRole(sql: Statements, role: string): Promise<boolean> {
  const rows = await sql.rows('select 1 from accounts where user = ? and is_role', [role]);
  return rows.length > 0;
}

/** Returns when the password of an account was last set, in seconds since 1970, or null without such an account. */
async function readSince(sql: Statements, { user, host }: Account): Promise<number | null> {
  const [row] = await sql.rows<{ since: number }>(
    'select cast(since as signed) as since from accounts where user = ? and host = ? and not is_role',
    [user, host],
  );
  return row ? Number(row.since) : null;
}

function isPossibleHost(host: string): boolean {
  return /^[\w.:%/-]{1,255}$/.test(host);
}
