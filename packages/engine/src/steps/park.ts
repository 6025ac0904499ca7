import { type Database, executions, inOrder, steps, type Transaction } from '@belay/db';
import type { Json } from '@belay/workflow';
import { and, eq, type SQL, sql } from 'drizzle-orm';
import type { ClaimedCall, Performed } from '../ports.js';

export interface Parking {
  /** What is waited for, in words for people. */
  waitingFor: string;
  /** The latest time of the next check. */
  dueAt: Date;
  /** Whether the execution as a whole now waits for people or time, rather than runs. */
  waiting: boolean;
}

/**
 * Releases a call's lease and stores what the call waits for. The caller holds the execution's lock and the call's
 * lease.
 */
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

/** What is written to a waiting call; absent values stay. */
export interface Wait {
  /** What is waited for, in words for people. */
  waitingFor?: string;
  /** The latest time of the next check, in milliseconds from now. */
  after?: number;
  /** Whether to release its lease. */
  release?: true;
}

/**
 * Returns the statement that makes an open call keep waiting, for the transaction of a change that concerns it. The statement is
 * sent when it is awaited or given to `inOrder`. With `attempt`, it changes the call only when no other process has taken the call
 * over.
 */
export function waitOn(
  db: Database | Transaction,
  call: { executionId: string; key: string; attempt?: number },
  { waitingFor, after, release }: Wait,
) {
  return db
    .update(steps)
    .set({
      ...(waitingFor === undefined ? {} : { waitingFor }),
      ...(after === undefined ? {} : { dueAt: sql`app_now() + ${`${after} milliseconds`}::interval` }),
      ...(release ? { leaseUntil: null } : {}),
    })
    .where(
      and(
        eq(steps.executionId, call.executionId),
        eq(steps.key, call.key),
        eq(steps.status, 'open'),
        call.attempt === undefined ? undefined : eq(steps.attempt, call.attempt),
      ),
    );
}

/**
 * Stores an outcome for the parked calls of one function, in one statement. `outcome`: a query with one row, whose `outcome` is
 * null while the calls must keep waiting. Returns the keys of the calls that were settled, and the other parked calls, which must
 * be checked one by one. The caller holds the execution's lock.
 */
export async function settleParked(
  tx: Transaction,
  executionId: string,
  { call, outcome }: { call: string; outcome: SQL },
): Promise<{ settled: string[]; others: { key: string; call: string }[] }> {
  const rows = await tx.execute<{ key: string; call: string; kept: boolean }>(sql`
    with come as (${outcome}),
    parked as (
      select key, request ->> 'call' as call from ${steps} where ${steps.executionId} = ${executionId} and status = 'open'
        and kind = 'call' and outcome_at is null and lease_until is null and attempt > 0),
    kept as (
      update ${steps} set due_at = app_now(), outcome_at = app_now(), outcome = come.outcome
      from come, parked where ${steps.executionId} = ${executionId} and ${steps.key} = parked.key
        and parked.call = ${call} and come.outcome is not null
      returning ${steps.key} as key)
    select key, call, key in (select key from kept) as kept from parked`);
  return {
    settled: rows.flatMap(({ key, kept }) => (kept ? [key] : [])),
    others: rows.flatMap(({ key, call, kept }) => (kept ? [] : [{ key, call }])),
  };
}

export const parked: Performed = { kind: 'parked' };

export function done(value: Json): Performed {
  return { kind: 'outcome', outcome: { ok: true, value } };
}
