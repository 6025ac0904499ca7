import type { Subject } from './accounts.js';
import type { Statements } from './database.js';

/** How many of the remaining objects are named. */
const mostNamed = 5;

/**
 * Returns what keeps the role's privileges without the role, in a sentence, or null: views and routines that run as the role
 * (DEFINER = CURRENT_ROLE, MariaDB). A grant is rejected when it finds the same, so what is found later was created meanwhile.
 */
export async function findLeftovers(sql: Statements, { role }: Subject): Promise<string | null> {
  const rows = await sql.rows<{ name: string }>(
    `select concat('the view ', table_schema, '.', table_name) as name from information_schema.views
     where definer in (?)
     union select concat('the routine ', db, '.', name) from routines where definer in (?) order by name`,
    [definersOf(role), definersOf(role)],
  );
  if (rows.length === 0) return null;
  const names = rows.slice(0, mostNamed).map(({ name }) => name);
  const more = rows.length > mostNamed ? ` and ${rows.length - mostNamed} more` : '';
  return `The database still has objects that run with the privileges of the role: ${names.join(', ')}${more}`;
}

/** The server writes a role as a definer without a host, and in some lists with the mark before it. */
function definersOf(role: string): string[] {
  return [role, `${role}@`];
}
