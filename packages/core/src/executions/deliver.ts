import { isNamed } from '@belay/contract/audience';
import { AccessError, notFound } from '@belay/contract/errors';
import { limits } from '@belay/contract/limits';
import { approvals, type Database, executions, inOrder, signals, type Transaction } from '@belay/db';
import {
  decideTurn,
  lockExecution,
  makingTurnDue,
  readSnapshot,
  retryDeadlock,
  TURN,
  turnJob,
  workflowOf,
} from '@belay/engine';
import type { CloudEvent, Json } from '@belay/workflow';
import { and, count, eq, isNotNull, isNull, lt, sql } from 'drizzle-orm';
import { z } from 'zod';
import { requireFreshGroups } from '../actor.js';
import { isExcluded, isRequester } from '../approvals/exclusion.js';
import type { ActorContext, Context, UserActor } from '../context.js';
import { findExecution, isId } from '../find-execution.js';
import { appendLedger } from '../ledger/append.js';
import { listSelves } from '../people/selves.js';
import { requireJson, requireText } from '../text.js';
import { describeSender, isHeard, type Sender, withoutOwnAccess } from './senders.js';

/** How often an event is checked against an execution that keeps moving. After that, the last check counts. */
const tries = 5;

/** An event in a sealed token, for exactly one person and one execution. */
export const sealedEventSchema = z.object({
  executionId: z.string(),
  userId: z.string(),
  event: z.object({
    specversion: z.literal('1.0'),
    id: z.string().min(1),
    source: z.string().min(1),
    type: z.string().min(1),
    time: z.string().optional(),
    data: z.json().optional(),
  }),
});

/** Returns the CloudEvent of a person, as a token seals it. Throws `invalid` for text that cannot be stored. */
export function eventOf(
  ctx: ActorContext,
  user: UserActor,
  given: { type: string; data?: Json | undefined },
  now: Date,
): CloudEvent {
  requireText(given.type, 'type', limits.name);
  requireJson(given.data, 'data', limits.eventData);
  return {
    specversion: '1.0',
    id: ctx.newId(),
    source: `urn:belay:user:${user.id}`,
    type: given.type,
    time: now.toISOString(),
    data: given.data ?? null,
  };
}

/** An execution that a person may send events to, and their relation to it. */
type Found = Awaited<ReturnType<typeof findToSignal>>;

/**
 * Returns an execution that the caller may send events to: one that they see as its owner or an approver, or one with a
 * task that names them, for example by a group, as a sender. Throws `not_found` for every other, and `unavailable` when
 * a provider cannot return the caller's identity.
 */
export async function findToSignal(ctx: ActorContext, user: UserActor, id: string) {
  const seen = await findExecution(ctx, user, id).catch((error: unknown) => {
    if (error instanceof AccessError && error.code === 'not_found' && isId(id)) return null;
    throw error;
  });
  const execution = seen?.execution ?? (await readExecution(ctx, id));
  if (execution === undefined) throw notFound('The execution');
  const workflow = await workflowOf(ctx.db, execution);
  const named = await describeSender(ctx.db, user, execution);
  const sender = await withoutOwnAccess(ctx, user, { sender: named, workflow, execution });
  const expressly = isHeard(workflow, sender, { expressly: true });
  // Overseers may see a request and not send events to it.
  const sight = seen === null || seen.sight === 'overseer' ? null : seen.sight;
  if (sight === null && !expressly) throw notFound('The execution');
  return { execution, sight, sender, expressly, heard: isHeard(workflow, sender) };
}

async function readExecution(ctx: ActorContext, id: string) {
  const [execution] = await ctx.db.select().from(executions).where(eq(executions.id, id));
  return execution;
}

/**
 * Delivers a person's event to an execution that accepts their events. Throws `forbidden` for an approver whose
 * decision is no longer requested and for a sender whose events no task accepts, `unavailable` when the sender's groups
 * are too old, and the errors of `acceptEvent`.
 */
export async function deliverEvent(
  ctx: ActorContext,
  user: UserActor,
  { execution, sight, sender, expressly, heard }: Found,
  event: CloudEvent,
  { early }: { early: 'kept' | 'refused' },
): Promise<void> {
  requireFreshGroups(user);
  if (!expressly && sight === 'approver' && !(await isAsked(ctx, user, execution))) {
    throw new AccessError('forbidden', 'The execution does not wait for an event from you');
  }
  if (!heard) throw new AccessError('forbidden', 'No task of this execution accepts events from you');
  await acceptEvent(ctx, { executionId: execution.id, event, sender, early });
}

export interface Arrival {
  executionId: string;
  /** Its `source` is the verified sender, never a source that the sender stated. */
  event: CloudEvent;
  sender: Sender;
  /** The sender's own id of the delivery. */
  deliveryId?: string | undefined;
  early: 'kept' | 'refused';
}

/**
 * Stores a verified sender's event for the execution's turn, which passes it to a task. An event that arrives `early`,
 * before a task listens for it, is kept for that task or rejected with `conflict`. Throws `conflict` for a repeated
 * event or an execution that has ended, and `too_many_requests` when too many events of the sender wait or too many
 * were taken.
 */
export async function acceptEvent(ctx: ActorContext, arrival: Arrival): Promise<void> {
  let refusal =
    arrival.early === 'refused' ? new AccessError('conflict', 'The execution does not wait for this event') : null;
  for (let made = 1; ; made += 1) {
    // An event that a task takes now needs no room in the inbox. Whether a task takes it is checked without a lock, and
    // only when the event would be rejected otherwise.
    const seen = refusal ? await lookFor(ctx, arrival, refusal) : null;
    const kept = await retryDeadlock(() =>
      ctx.db.transaction((tx) => keep(ctx, tx, arrival, { seen, isLast: made >= tries })),
    );
    if (kept instanceof AccessError) refusal = kept;
    else if (kept) {
      ctx.crashpoint('signal kept');
      ctx.waker.wake([turnJob(arrival.executionId)]);
      return;
    }
  }
}

/** The state of an execution when it was checked for the event. */
interface Seen {
  version: number;
  /** How often a turn of the execution was made due so far; another event would have increased this number. */
  turn: number | null;
}

/** Throws `refusal` unless a task accepts the event in the current state. No transaction is open meanwhile. */
async function lookFor(ctx: ActorContext, arrival: Arrival, refusal: AccessError): Promise<Seen> {
  const { executionId, event, sender } = arrival;
  const snapshot = await readSnapshot(ctx, executionId);
  if (!snapshot) throw ended();
  const decided = await decideTurn(ctx, snapshot, { is: 'event', event, sender });
  if (decided?.applied) return { version: snapshot.version, turn: snapshot.turn };
  if (await isKnown(ctx.db, executionId, event)) throw repeated();
  throw refusal;
}

/**
 * Writes the event to the inbox and makes the execution's turn due. Returns false when the execution has changed since
 * the check (unless this is the last attempt), and the error when the inbox is full.
 */
async function keep(
  ctx: ActorContext,
  tx: Transaction,
  arrival: Arrival,
  { seen, isLast }: { seen: Seen | null; isLast: boolean },
): Promise<boolean | AccessError> {
  const { executionId, event, sender, deliveryId } = arrival;
  const locked = await lockExecution(tx, executionId, TURN);
  if (!locked) throw ended();
  if (seen && !isLast && (seen.version !== locked.version || seen.turn !== (locked.step?.attempt ?? null)))
    return false;
  if (await isKnown(tx, executionId, event)) throw repeated();
  const many = await boundSignals(ctx, tx, executionId);
  if (many) throw many;
  const full = seen ? null : await refuseMore(tx, executionId, event.source, ctx.catalog.current().limits.signals);
  if (full) return full;
  const [fresh] = await tx
    .insert(signals)
    .values({ executionId, source: event.source, eventId: event.id, type: event.type, event, sender, deliveryId })
    .onConflictDoNothing()
    .returning({ eventId: signals.eventId });
  if (!fresh) throw repeated();
  await inOrder([
    makingTurnDue(tx, executionId),
    appendLedger(tx, [
      {
        type: 'signal.received',
        message: `Received ${event.type}`,
        actor: ctx.actor,
        userId: locked.ownerId,
        executionId,
        data: { type: event.type, source: event.source, id: event.id },
      },
    ]),
  ]);
  return true;
}

async function isKnown(db: Database | Transaction, executionId: string, event: CloudEvent): Promise<boolean> {
  const [known] = await db
    .select({ eventId: signals.eventId })
    .from(signals)
    .where(and(eq(signals.executionId, executionId), eq(signals.source, event.source), eq(signals.eventId, event.id)));
  return known !== undefined;
}

function ended(): AccessError {
  return new AccessError('conflict', 'The execution has ended');
}

function repeated(): AccessError {
  return new AccessError('conflict', 'The signal was already delivered');
}

/**
 * Returns the error when a sender has too many waiting events at one execution; the caller holds the execution's lock.
 */
async function refuseMore(
  tx: Transaction,
  executionId: string,
  source: string,
  limit: number,
): Promise<AccessError | null> {
  const [counted] = await tx
    .select({ waiting: sql<number>`count(*)::int` })
    .from(signals)
    .where(and(eq(signals.executionId, executionId), eq(signals.source, source), isNull(signals.consumedAt)));
  if ((counted?.waiting ?? 0) < limit) return null;
  return new AccessError(
    'too_many_requests',
    `${limit} events from you wait at this execution, which is the limit for one sender; send more when a task has taken some`,
    { retryAfter: 60 },
  );
}

/**
 * Returns whether an approval that is open now requests the decision of this person; a closed one gives no right to
 * send events (docs/interface.md, section 16, rule 2).
 */
async function isAsked(
  ctx: ActorContext,
  user: UserActor,
  execution: { id: string; ownerId: string },
): Promise<boolean> {
  const open = await ctx.db
    .select({ rule: approvals.rule, excluded: approvals.excluded })
    .from(approvals)
    .where(and(eq(approvals.executionId, execution.id), eq(approvals.status, 'open')));
  const asked = open.filter(({ rule }) => isNamed(user, rule));
  if (asked.length === 0) return false;
  const selves = await listSelves(ctx.db, user.id);
  return !isRequester(selves, execution) && asked.some((approval) => !isExcluded(selves, approval));
}

/** How many taken signals are kept per execution, so that a repeated one is recognised. */
const kept = 1_000;

/**
 * Limits how many taken signals an execution keeps: beyond a thousand, those that are older than any sealed signal can be are deleted.
 * Returns the error when a thousand remain, because too many were taken within the last hour. The caller holds the execution's lock.
 */
async function boundSignals(ctx: Context, tx: Transaction, executionId: string): Promise<AccessError | null> {
  const taken = and(eq(signals.executionId, executionId), isNotNull(signals.consumedAt));
  const countTaken = async () => (await tx.select({ count: count() }).from(signals).where(taken))[0]?.count ?? 0;
  if ((await countTaken()) < kept) return null;
  const repeatable = sql`app_now() - ${`${ctx.timing.signal} milliseconds`}::interval`;
  await tx.delete(signals).where(and(taken, lt(signals.consumedAt, repeatable)));
  if ((await countTaken()) < kept) return null;
  return new AccessError(
    'too_many_requests',
    `The tasks of this execution have taken ${kept} events in the last hour`,
    {
      retryAfter: 60,
    },
  );
}
