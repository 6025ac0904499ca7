import { execute, sqlText } from '@belay/db';
import type { Store, UserActor } from './context.js';

/**
 * Counts calls of a provider for a person that start no request: a list, or a request that was rejected after a provider was called.
 * Returns false, and counts nothing, when the person made `most` of this kind in the last hour.
 */
export async function countLookup(
  { db }: Pick<Store, 'db'>,
  { id }: UserActor,
  kind: 'request' | 'list',
  most: number,
): Promise<boolean> {
  const [row] = await execute<{ counted: boolean }>(
    db,
    sqlText`select count_lookup(${id}::uuid, ${kind}, ${most}::int) as counted`,
  );
  return row?.counted === true;
}
