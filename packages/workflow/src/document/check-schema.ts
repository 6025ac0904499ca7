import { ExpressionOutage } from '../expression/error.js';
import { createThreadPool, type ThreadPool } from '../expression/thread-pool.js';
import { exceeds } from '../json.js';
import type { Caller, Json } from '../types.js';
import { compileSchema, type Differences, listDifferences } from './json-schema.js';
import { isPlainSchema, PLAIN_VALUE } from './plain-schema.js';

/** Milliseconds of processor time for one check in the thread, including the first compilation of the schema. */
const LIMIT = 500;
/** A schema up to this many characters compiles in milliseconds, regardless of its content. */
const SHORT = 10_000;
let threads: ThreadPool | undefined;

/**
 * Returns how a value differs from a JSON Schema, in at most twenty places, without quoting the value. A plain schema
 * and a small value are checked in place; anything else in a thread, because a schema of a few lines can keep a
 * processor busy for years. A check that takes too long counts as a difference. Throws `ExpressionOutage` when the
 * value cannot be checked now.
 */
export async function checkSchema(schema: Json, value: Json, caller?: Caller): Promise<Differences> {
  if (isPlainSchema(schema) && !exceeds(value, PLAIN_VALUE)) return listDifferences(schema, value);
  const found = await checkInThread(schema, JSON.stringify(value), caller);
  if (typeof found === 'string') return [['', found]];
  return found;
}

/** Returns whether a schema may take too long to compile on this thread. */
export function isLong(schema: Json): boolean {
  return exceeds(schema, { depth: 100, length: SHORT }) !== null;
}

/** Returns why a short schema cannot be used, or null. */
export function findSchemaFault(schema: Json): string | null {
  try {
    compileSchema(schema);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : 'not a JSON Schema';
  }
}

/** Returns why a long schema cannot be used, or null. Throws `ExpressionOutage` when it cannot be compiled now. */
export async function findLongSchemaFault(schema: Json): Promise<string | null> {
  const found = await checkInThread(schema, '');
  return typeof found === 'string' ? found : null;
}

/** Returns the differences, or why they cannot be checked. */
async function checkInThread(schema: Json, value: string, caller?: Caller): Promise<Differences | string> {
  // Created at the first use, because plain schemas with small values need no thread.
  threads ??= createThreadPool({ size: 1, limit: LIMIT, does: 'schemas' });
  const text = JSON.stringify(schema);
  const { read, milliseconds } = await threads.run(caller?.executionId ?? '', text, () => {
    return { program: text, input: value, raises: false };
  });
  caller?.spend?.(milliseconds);
  if (read.is === 'values') return read.values[0] as unknown as Differences;
  if (read.is === 'starved') throw new ExpressionOutage('schemas do not get enough processor time');
  if (read.is === 'failed') return read.message;
  return value === '' ? 'takes too long to compile' : 'takes too long to check against its schema';
}
