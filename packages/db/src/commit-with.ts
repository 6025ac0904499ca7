import type { Transaction } from './client.js';
import { inOrder, type Statement } from './in-order.js';

type Results<S extends readonly (Statement | undefined)[]> = Awaited<ReturnType<typeof inOrder<S>>>;

/** The function that our patch adds to the driver's transaction (docs/decisions/0061). */
interface Committing {
  commit(): Promise<unknown>;
}

/**
 * Sends the last statements of a transaction and COMMIT together, without waiting between them, and returns the
 * statements' results when all is committed. `db.transaction` sends BEGIN together with the first statement, so
 *
 *     db.transaction(async (tx) => {
 *       const [row] = await tx.update(…).where(eq(version, known)).returning();
 *       if (!row) tx.rollback();
 *       await commitWith(tx, [tx.insert(…), tx.insert(…)]);
 *     });
 *
 * takes two round trips. It must be the last use of `tx`: a later statement is rejected, and an error that the callback
 * throws afterwards rolls nothing back. When a statement or the commit fails, all is rolled back and the first error is
 * thrown. When the connection is lost, that error counts as an outage, and it is unknown whether the transaction was
 * committed.
 */
export async function commitWith<const S extends readonly (Statement | undefined)[]>(
  tx: Transaction,
  statements: S,
): Promise<Results<S>> {
  const results = inOrder(statements);
  const { client } = tx._.session as unknown as { client: Committing };
  const committed = client.commit();
  const [outcome, end] = await Promise.allSettled([results, committed]);
  if (outcome.status === 'rejected') throw outcome.reason;
  if (end.status === 'rejected') throw end.reason;
  return outcome.value;
}
