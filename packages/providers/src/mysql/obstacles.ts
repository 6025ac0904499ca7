import type { Access, Obstacle, Weakness } from '../port.js';
import { hasRole } from './accounts.js';
import { grantedRole, type MysqlConfig, quoteName } from './config.js';
import type { Statements } from './database.js';
import { readAdministered } from './memberships.js';
import { findReason, reasons } from './rights.js';

/** Returns the accesses whose grant the server or this connector would reject, each with its cure. */
export async function findObstacles(
  sql: Statements,
  { accesses, config }: { accesses: readonly Access[]; config: MysqlConfig },
): Promise<Obstacle[]> {
  const [server] = await sql.rows<{ me: string; maria: number }>(
    "select current_user() as me, version() like '%MariaDB%' as maria",
  );
  const administered = new Set(await readAdministered(sql));
  const found: Obstacle[] = [];
  for (const access of accesses) {
    const { role } = grantedRole.parse(access);
    const obstacle = await findOne(sql, role, config);
    if (obstacle) found.push({ access, ...obstacle });
    // MySQL has a privilege to grant every role (ROLE_ADMIN), which the view does not show.
    else if (Number(server?.maria) === 1 && !administered.has(role)) {
      found.push({
        access,
        message: `${server?.me} may not grant the role ${role}`,
        cure: `grant ${quoteName(role)} to the connector's user with admin option`,
      });
    }
  }
  return found;
}

async function findOne(sql: Statements, role: string, config: MysqlConfig): Promise<Weakness | undefined> {
  if (!(await hasRole(sql, role))) {
    return { message: `the role ${role} does not exist`, cure: `create role ${quoteName(role)}` };
  }
  const reason = config.allow_privileged_roles ? null : await findReason(sql, role);
  if (reason === null) return undefined;
  return {
    message: `the role ${role} ${reasons[reason]}, so it is not granted`,
    cure: 'offer a role without that, or set allow_privileged_roles for the provider',
  };
}
