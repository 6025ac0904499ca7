import {
  type Database,
  executions,
  inOrder,
  joinTexts,
  type SqlText,
  sqlText,
  steps,
  type Transaction,
} from '@belay/db';
import type { Json } from '@belay/workflow';
import { and, eq, type SQL, sql } from 'drizzle-orm';
import type { ClaimedCall, EngineStore, Joined, Performed } from '../ports.js';

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

/**
 * Returns the statement that parks a claimed call together with what its function writes. It locks the execution first, and
 * writes nothing when the execution has ended, or when the call has an outcome or another claim. `next`: when the
 * call looks again by itself, in milliseconds. `waiting`: the execution as a whole now waits, rather than runs.
 */
export function parkingWith(
  ctx: EngineStore,
  { executionId, key, attempt }: Pick<ClaimedCall, 'executionId' | 'key' | 'attempt'>,
  written: Omit<Joined, 'told' | 'until'> & { waitingFor: string; next: number; waiting?: boolean },
): SqlText {
  const { before = [], when, after = [], entries = [], entitlement, waitingFor, next, waiting, returning } = written;
  const parts = [
    ...before,
    sqlText`running as materialized (
      select id from ${executions} where id = ${executionId} and ended_at is null
        ${when ? sqlText`and ${when}` : sqlText``} for update)`,
    sqlText`moved as (
      update ${steps} set waiting_for = ${waitingFor}, due_at = app_now() + ${`${next} milliseconds`}::interval,
        lease_until = null, failures = 0
      from running where execution_id = running.id and key = ${key} and ${steps}.status = 'open'
        and outcome_at is null and attempt = ${attempt}
      returning execution_id as id)`,
    ...(waiting
      ? [
          sqlText`waits as (update ${executions} set status = 'waiting' from moved where ${executions}.id = moved.id and ${executions}.status = 'running')`,
        ]
      : []),
    ...after,
    ctx.host.appending(entries, { when: sqlText`moved`, entitlement }),
  ];
  return sqlText`with ${joinTexts(parts, ', ')} ${returning ?? sqlText`select id, (select count(*) from notified) from moved`}`;
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
export function waitOn(db: Database | Transaction, call: WaitingCall, wait: Wait) {
  return db.execute(waitingOn(call, wait));
}

interface WaitingCall {
  executionId: string;
  key: string;
  attempt?: number;
}

/** Returns the text of `waitOn`. `when`: the condition under which another statement makes the call wait. */
export function waitingOn(
  { executionId, key, attempt }: WaitingCall,
  { waitingFor, after, release }: Wait,
  when: SqlText = sqlText`true`,
): SqlText {
  return sqlText`
    update ${steps} set waiting_for = coalesce(${waitingFor ?? null}::text, waiting_for),
      due_at = coalesce(app_now() + ${after === undefined ? null : `${after} milliseconds`}::interval, due_at)
      ${release ? sqlText`, lease_until = null` : sqlText``}
    where execution_id = ${executionId} and key = ${key} and status = 'open'
      ${attempt === undefined ? sqlText`` : sqlText`and attempt = ${attempt}`} and ${when}`;
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
