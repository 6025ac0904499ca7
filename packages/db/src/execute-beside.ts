import type { Database } from './client.js';
import { commitWith } from './commit-with.js';
import { inGroups } from './in-groups.js';
import { execute, type SqlText, sqlText, statementOf } from './sql-text.js';

/**
 * Executes one statement as its own transaction, for the work of a group (`inGroups`), and returns its rows. With `hurried` it
 * fails when it has waited a fifth of a second for a lock.
 */
export async function executeFor<Row extends object>(db: Database, text: SqlText, hurried: boolean): Promise<Row[]> {
  if (!hurried) return execute<Row>(db, text);
  const [rows = []] = await inShort<Row>(db, [text]);
  return rows;
}

/** Executes statements in one transaction, in this order. It fails when it has waited a fifth of a second for a lock. */
function inShort<Row extends object>(db: Database, texts: readonly SqlText[]): Promise<Row[][]> {
  return db.transaction(async (tx) => {
    await execute(tx, sqlText`set local lock_timeout = 200`);
    return commitWith(
      tx,
      texts.map((text) => statementOf<Row>(tx, text)),
    );
  });
}

interface Beside {
  db: Database;
  text: SqlText;
  keys: readonly string[];
}

/**
 * Executes a statement in one transaction with other statements of this process, and returns its rows when they are committed.
 * `keys` contains the execution that it locks first, and everything else that only one statement of a transaction may write. Where
 * a row is not as the statement expects, the statement must write nothing and not fail.
 */
export function executeBeside<Row extends object>(
  db: Database,
  text: SqlText,
  keys: readonly string[],
): Promise<Row[]> {
  return together(db, { db, text, keys }) as Promise<Row[]>;
}

const together = inGroups(
  async (group: readonly [Beside, ...Beside[]], hurried): Promise<readonly object[][]> => {
    const [{ db, text }] = group;
    if (!hurried) return [await execute(db, text)];
    // In the order of the executions, so that two transactions with the same executions do not wait for each other.
    const order = [...group.keys()].sort((one, other) => compare(group[one]?.keys[0], group[other]?.keys[0]));
    const rows = await inShort(
      db,
      order.flatMap((index) => group[index]?.text ?? []),
    );
    return group.map((_, index) => rows[order.indexOf(index)] ?? []);
  },
  ({ keys }) => keys,
);

function compare(one = '', other = ''): number {
  return one < other ? -1 : Number(one > other);
}
