import { migrateDatabase, OutdatedDatabaseError } from '@belay/db';
import { delay, machine, oneLine, StartError } from '@belay/program';
import { whileReachable } from './while-reachable.js';

/**
 * Brings the database of this installation to the newest schema. Returns what `migrateDatabase` returns. Throws `StartError`.
 */
export async function migrateStorage(url: string): ReturnType<typeof migrateDatabase> {
  try {
    return await whileReachable({ url, delay }, () => migrateDatabase(url, machine));
  } catch (cause) {
    throw cause instanceof StartError ? cause : new StartError(explainMigration(cause), { cause });
  }
}

/** Returns the error message for a failed migration, with a fix when the database user lacks a permission. */
function explainMigration(error: unknown): string {
  if (error instanceof OutdatedDatabaseError) return error.message;
  const inner = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const cure =
    inner instanceof Error && 'code' in inner && inner.code === '42501'
      ? '; its user must own the database or be allowed to create schemas in it'
      : '';
  return `The database cannot be migrated to the newest schema (${oneLine(inner)})${cure}`;
}
