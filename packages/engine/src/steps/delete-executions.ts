import { execute, executions, signals, sqlText, steps, type Transaction, taskEvents } from '@belay/db';

/**
 * Deletes executions that have ended, with their steps, signals and task events. The caller has locked them and deleted the rows
 * that refer to them, and records in the ledger what they were.
 */
export async function deleteExecutions(tx: Transaction, ids: readonly string[]): Promise<void> {
  const given = sqlText`any(${`{${ids.join(',')}}`}::text::uuid[])`;
  for (const table of [steps, signals, taskEvents])
    await execute(tx, sqlText`delete from ${table} where execution_id = ${given}`);
  await execute(tx, sqlText`delete from ${executions} where id = ${given} and ended_at is not null`);
}
