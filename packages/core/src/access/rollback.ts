import { TransactionRollbackError } from 'drizzle-orm';

/** A record whose fence is lost rolls its transaction back: somebody has moved on, and that is fine. */
export function ignoreRollback(error: unknown): null {
  if (error instanceof TransactionRollbackError) return null;
  throw error;
}
