import type { NoticeKind } from '@belay/db';
import { type SQL, sql } from 'drizzle-orm';

/** How urgent a message is. What is more urgent has places of its own, so that no level waits for another (decision 0171). */
export const urgencies = { usual: 0, urgent: 1, alarm: 2 } as const;
export type Urgency = (typeof urgencies)[keyof typeof urgencies];

/** What must not wait for other messages, urgent ones included: a person could otherwise hide an emergency behind their own messages. */
const alarms: readonly NoticeKind[] = ['break_glass.used', 'revocation.overdue'];

export function urgencyOf(kind: NoticeKind, urgent: boolean): Urgency {
  if (alarms.includes(kind)) return urgencies.alarm;
  return urgent ? urgencies.urgent : urgencies.usual;
}

/** Returns the urgency of the notice in the current row, in SQL. */
export const urgencyOfRow: SQL = sql`case
  when kind in (${sql.join(
    alarms.map((kind) => sql`${kind}`),
    sql`, `,
  )}) then ${sql.raw(String(urgencies.alarm))}
  when urgent then ${sql.raw(String(urgencies.urgent))} else ${sql.raw(String(urgencies.usual))} end`;
