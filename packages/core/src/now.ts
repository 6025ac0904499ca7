import type { Database, Transaction } from '@belay/db';
import { sql } from 'drizzle-orm';

/** Returns the database's time, with which verbs compare stored times (docs/architecture.md, section 10). */
export async function readNow(db: Database | Transaction): Promise<Date> {
  const [row] = await db.execute<{ now: string }>(sql`select app_now() as now`);
  if (!row) throw new Error('The database did not return the time');
  return new Date(row.now);
}
