import { executions, inOrder, steps, type Transaction } from '@belay/db';
import type { Json } from '@belay/workflow';
import { and, eq, sql } from 'drizzle-orm';
import type { ClaimedCall, Performed } from './ports.js';

export interface Parking {
  /** In words for the person who looks: what is waited for. */
  waitingFor: string;
  /** When to look again at the latest. */
  dueAt: Date;
  /** Whether the execution as a whole now waits for people or time, rather than runs. */
  waiting: boolean;
}

/** Gives a call's lease back and writes down what it waits for. The caller holds the execution's lock and knows the call is its own. */
export async function parkCall(
  tx: Transaction,
  call: Pick<ClaimedCall, 'executionId' | 'key'>,
  parking: Parking,
): Promise<void> {
  await inOrder([
    tx
      .update(steps)
      .set({ waitingFor: parking.waitingFor, dueAt: parking.dueAt, leaseUntil: null, failures: 0 })
      .where(and(eq(steps.executionId, call.executionId), eq(steps.key, call.key))),
    parking.waiting
      ? tx
          .update(executions)
          .set({ status: sql`case when ${executions.status} = 'running' then 'waiting' else ${executions.status} end` })
          .where(eq(executions.id, call.executionId))
      : undefined,
  ]);
}

export const parked: Performed = { kind: 'parked' };

export function done(value: Json): Performed {
  return { kind: 'outcome', outcome: { ok: true, value } };
}
