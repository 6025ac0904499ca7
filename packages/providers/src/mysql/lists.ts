import type { ListedEntitlement } from '../port.js';
import { accountOf, identityOf, markOfRole, markStart, readTarget } from './accounts.js';
import type { MysqlConfig } from './config.js';
import type { Statements } from './database.js';

interface Member {
  role: string;
  user: string;
  host: string;
  since: number;
}

/**
 * Lists the roles of accounts that have our mark, and all members of `exclusive` roles but the connector's own user. The `id` is
 * the one in the mark, and empty when the account has no mark.
 */
export async function listEntitlements(sql: Statements, config: MysqlConfig): Promise<ListedEntitlement[]> {
  const target = await readTarget(sql);
  const marks = await sql.rows<{ mark: string; user: string; host: string }>(
    'select Db as mark, User as user, Host as host from mysql.db where Db like ?',
    [`${markStart}%:%`],
  );
  const members = await sql.rows<Member>(
    `select m.role, a.user, a.host, cast(a.since as signed) as since
     from memberships m join accounts a on a.user = m.user and a.host = m.host
     where not a.is_role and concat(a.user, char(64), a.host) <> current_user() order by 1, 2, 3`,
  );
  return members.flatMap(({ role, since, ...account }) => {
    const mark = marks.find(
      (one) => one.user === account.user && one.host === account.host && one.mark.endsWith(`:${markOfRole(role)}`),
    );
    if (!mark && !config.exclusive.includes(role)) return [];
    const identity = identityOf(account);
    if (!accountOf(identity)) return [];
    const id = mark?.mark.slice(markStart.length, -(markOfRole(role).length + 1)) ?? '';
    return [{ id, identity, access: { role }, pin: { target, subject: { role, ...account, since: Number(since) } } }];
  });
}
