import type { notices } from '@belay/db';
import { type SQL, sql } from 'drizzle-orm';

/** The kinds of notices of a request, in the order in which they happen. This decides the order of notices of the same millisecond. */
const course: readonly (typeof notices.$inferSelect)['kind'][] = [
  'request.waiting',
  'request.comment',
  'request.decided',
  'access.active',
  'access.ending',
  'access.ended',
];

/** Returns the place of a kind in the course of a request; null, which sorts last, for other kinds. */
export function placeInCourse(kind: SQL): SQL {
  return sql`array_position(array[${sql.join(
    course.map((one) => sql`${one}`),
    sql`, `,
  )}]::text[], ${kind})`;
}
