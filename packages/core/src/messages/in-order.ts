import type { notices } from '@belay/db';
import { type SQL, sql } from 'drizzle-orm';

/** What happens to a request, in the order in which it happens: for notices of the same millisecond. */
const course: readonly (typeof notices.$inferSelect)['kind'][] = [
  'request.waiting',
  'request.comment',
  'request.decided',
  'access.active',
  'access.ending',
  'access.ended',
];

/** Returns the place of a kind in the course of a request; null, which is last, for what is not part of it. */
export function placeInCourse(kind: SQL): SQL {
  return sql`array_position(array[${sql.join(
    course.map((one) => sql`${one}`),
    sql`, `,
  )}]::text[], ${kind})`;
}
