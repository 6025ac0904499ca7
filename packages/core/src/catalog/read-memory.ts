import { type Database, type Transaction, targets } from '@belay/db';
import { eq } from 'drizzle-orm';
import type { Memory } from './judge.js';

/** Returns what is remembered of a target; null for nothing. */
export async function readMemory(db: Database | Transaction, target: string): Promise<Memory | null> {
  const { position, mark, nextMark, doubt } = targets;
  const [row] = await db.select({ position, mark, nextMark, doubt }).from(targets).where(eq(targets.target, target));
  return row ?? null;
}
