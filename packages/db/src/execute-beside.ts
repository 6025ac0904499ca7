import type { Database } from './client.js';
import { commitWith } from './commit-with.js';
import { inGroups } from './in-groups.js';
import { execute, type SqlText, sqlText, statementOf } from './sql-text.js';

/**
 * Executes a statement that would commit itself, for the work of a group; returns its rows. A hurried one waits half a
 * second for a lock, and then fails.
 */
export async function executeFor<Row extends object>(db: Database, text: SqlText, hurried: boolean): Promise<Row[]> {
  if (!hurried) return execute<Row>(db, text);
  const [rows = []] = await inShort<Row>(db, [text]);
  return rows;
}

/** Executes statements in one transaction, in this order, that waits for no lock longer than half a second. */
function inShort<Row extends object>(db: Database, texts: readonly SqlText[]): Promise<Row[][]> {
  return db.transaction(async (tx) => {
    await execute(tx, sqlText`set local lock_timeout = 500`);
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
 * Executes a statement that would commit itself, in one transaction with others of this process, and returns its rows
 * when they are committed. `keys`: what it locks; statements with a key in common are never in one transaction. It must
 * write nothing, rather than fail, where a row is not as it expects.
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
    return hurried
      ? inShort(
          db,
          group.map((one) => one.text),
        )
      : [await execute(db, text)];
  },
  ({ keys }) => keys,
);
