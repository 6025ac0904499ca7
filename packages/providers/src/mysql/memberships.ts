import { Retryable } from '../errors.js';
import { type Account, markOf, quoteAccount, type Subject } from './accounts.js';
import { quoteName } from './config.js';
import type { Statements } from './database.js';
import { isAbsent } from './faults.js';

/** Returns which of the subject's accounts have the role, and whether they may grant it to others. */
export async function readMembers(
  sql: Statements,
  { role, accounts }: Subject,
): Promise<(Account & { admin: boolean })[]> {
  const members: (Account & { admin: boolean })[] = [];
  for (const { user, host } of accounts) {
    const rows = await sql.rows<{ admin: number }>(
      'select admin from memberships where role = ? and user = ? and host = ?',
      [role, user, host],
    );
    if (rows.length > 0) members.push({ user, host, admin: rows.some(({ admin }) => Number(admin) === 1) });
  }
  return members;
}

/** Returns the roles that the connector's user holds with admin option. */
export async function readAdministered(sql: Statements): Promise<string[]> {
  const rows = await sql.rows<{ role: string }>(
    'select distinct role from memberships where admin and concat(user, char(64), host) = current_user() order by role',
  );
  return rows.map(({ role }) => role);
}

/**
 * Marks the account and grants it the role, without the admin option. Throws `Retryable` when the account was renamed
 * or lost its mark during the call.
 */
export async function grantRole(sql: Statements, id: string, subject: Subject, account: Account): Promise<void> {
  const { role } = subject;
  const mark = markOf(id, role);
  const name = quoteAccount(account);
  // The mark comes first, so that a granted role can always be found again.
  await sql.run(`grant references on \`${mark}\`.* to ${name}`);
  const [before] = await readMembers(sql, { ...subject, accounts: [account] });
  if (!before) await sql.run(`grant ${quoteName(role)} to ${name}`);
  else if (before.admin) await sql.run(`revoke admin option for ${quoteName(role)} from ${name}`);
  const marked = await sql.rows('select 1 from mysql.db where Db = ? and User = ? and Host = ?', [
    mark,
    account.user,
    account.host,
  ]);
  if (marked.length > 0) return;
  // Another account has taken the name, or the mark was removed.
  if (!before) await revokeIfHeld(sql, `revoke ${quoteName(role)} from ${name}`);
  throw new Retryable('The account was renamed or its privileges were changed during the call');
}

/**
 * Revokes the role from the subject's accounts, even if an administrator granted it. Returns how many accounts had the
 * role. Throws `Retryable` when the role was granted again during the call.
 */
export async function revokeRole(sql: Statements, subject: Subject): Promise<number> {
  const members = await readMembers(sql, subject);
  for (const account of members)
    await revokeIfHeld(sql, `revoke ${quoteName(subject.role)} from ${quoteAccount(account)}`);
  const left = await readMembers(sql, subject);
  if (left.length > 0) throw new Retryable('The role was granted again while it was revoked');
  return members.length;
}

/** Removes a mark from the subject's accounts. */
export async function removeMark(sql: Statements, subject: Subject, mark: string): Promise<void> {
  for (const account of subject.accounts) {
    const found = await sql.rows('select 1 from mysql.db where Db = ? and User = ? and Host = ?', [
      mark,
      account.user,
      account.host,
    ]);
    if (found.length > 0) await revokeIfHeld(sql, `revoke references on \`${mark}\`.* from ${quoteAccount(account)}`);
  }
}

async function revokeIfHeld(sql: Statements, statement: string): Promise<void> {
  try {
    await sql.run(statement);
  } catch (error) {
    if (!isAbsent(error)) throw error;
  }
}
