import { TransactionRollbackError } from 'drizzle-orm';

/**
 * Rolls the transaction of a record back when its fence is lost: another process has changed the row, which is normal.
 */
export function ignoreRollback(error: unknown): null {
  if (error instanceof TransactionRollbackError) return null;
  throw error;
}
