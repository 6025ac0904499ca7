import { approvals, executions, signals, type Transaction } from '@belay/db';
import { type CloudEvent, deliver, type Json } from '@belay/workflow';
import { and, eq, isNull, sql } from 'drizzle-orm';
import { z } from 'zod';
import { requireFreshGroups } from '../actor.js';
import { isExcluded, isRequester } from '../approvals/exclusion.js';
import { isNamed } from '../can.js';
import type { ActorContext, UserActor } from '../context.js';
import { AccessError, notFound } from '../errors.js';
import { appendLedger } from '../ledger/append.js';
import { listSelves } from '../logins/selves.js';
import { requireJson, requireText } from '../text.js';
import { findExecution, isId } from './find.js';
import { commit, stay } from './runtime/commit.js';
import { workflowOf } from './runtime/load.js';
import { admitsFrom, describeSender, isHeard, type Sender } from './senders.js';

/** An event in a sealed token, with the one person and the one execution that it was made for. */
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

/** A CloudEvent of a person, as a token seals it. Throws `invalid` for text that cannot be stored. */
export function eventOf(
  ctx: ActorContext,
  user: UserActor,
  given: { type: string; data?: Json | undefined },
  now: Date,
): CloudEvent {
  requireText(given.type, 'type', 200);
  requireJson(given.data, 'data', 16_384);
  return {
    specversion: '1.0',
    id: ctx.newId(),
    source: `urn:belay:user:${user.id}`,
    type: given.type,
    time: now.toISOString(),
    data: given.data ?? null,
  };
}

/** An execution that a person may send events to, and as whom. */
type Found = Awaited<ReturnType<typeof findToSignal>>;

/**
 * Returns an execution that the caller may send events to: one that they may see, or one with a task that expressly takes
 * events of a group of theirs. Throws `not_found` for every other.
 */
export async function findToSignal(ctx: ActorContext, user: UserActor, id: string) {
  const seen = await findExecution(ctx, user, id).catch((error: unknown) => {
    if (error instanceof AccessError && error.code === 'not_found' && isId(id)) return null;
    throw error;
  });
  const execution = seen?.execution ?? (await readExecution(ctx, id));
  if (execution === undefined) throw notFound('The execution');
  const sender = await describeSender(ctx.db, user, execution);
  const workflow = await workflowOf(ctx.db, execution);
  const expressly = isHeard(workflow, sender, { expressly: true });
  if (seen === null && !expressly) throw notFound('The execution');
  return { execution, sight: seen?.sight ?? null, sender, expressly, heard: isHeard(workflow, sender) };
}

async function readExecution(ctx: ActorContext, id: string) {
  const [execution] = await ctx.db.select().from(executions).where(eq(executions.id, id));
  return execution;
}

/**
 * Delivers a person's event to an execution that takes events of theirs. Throws `forbidden` for an approver who is not asked
 * any more and for a sender whose events count at no task, `conflict` for an event that came already or an execution that has
 * ended. What comes `early`, before a task listens for it, is kept for that task or refused with `conflict`.
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
    throw new AccessError('forbidden', 'The execution does not wait for you');
  }
  if (!heard) throw new AccessError('forbidden', 'No task of this execution takes events from you');
  await acceptEvent(ctx, { executionId: execution.id, event, sender, early });
}

export interface Arrival {
  executionId: string;
  /** Its `source` is ours: what was verified, and not what the event says of itself. */
  event: CloudEvent;
  sender: Sender;
  /** The sender's own number of the delivery. */
  deliveryId?: string | undefined;
  early: 'kept' | 'refused';
}

/** Gives a verified sender's event to the tasks that listen for it, or keeps it. Throws as `deliverEvent` does. */
export async function acceptEvent(ctx: ActorContext, arrival: Arrival): Promise<void> {
  const { executionId, event, sender, deliveryId, early } = arrival;
  const committed = await commit(ctx, executionId, async (locked, tx) => {
    const [fresh] = await tx
      .insert(signals)
      .values({ executionId, source: event.source, eventId: event.id, type: event.type, event, sender, deliveryId })
      .onConflictDoNothing()
      .returning({ eventId: signals.eventId });
    if (!fresh) throw new AccessError('conflict', 'The signal was delivered already');
    await appendLedger(tx, [
      {
        type: 'signal.received',
        message: `Received ${event.type}`,
        actor: ctx.actor,
        userId: locked.ownerId,
        executionId,
        data: { type: event.type, source: event.source, id: event.id },
      },
    ]);
    const admits = admitsFrom(locked.definition, sender);
    const transition = await deliver(locked.definition, locked.state, event, locked.env, admits);
    if (transition) return { transition, actor: ctx.actor, consumed: { source: event.source, eventId: event.id } };
    if (early === 'refused') throw new AccessError('conflict', 'The execution does not wait for this');
    await refuseMore(tx, executionId, event.source, ctx.catalog.current().limits.signals);
    // Nobody wants it yet: it waits in the inbox for a `listen` that does.
    return stay(locked, ctx.actor);
  });
  if (!committed) throw new AccessError('conflict', 'The execution has ended');
}

/** Refuses one event more than a sender may have waiting at one execution; the execution's lock is held. */
async function refuseMore(tx: Transaction, executionId: string, source: string, limit: number): Promise<void> {
  const [counted] = await tx
    .select({ waiting: sql<number>`count(*)::int` })
    .from(signals)
    .where(and(eq(signals.executionId, executionId), eq(signals.source, source), isNull(signals.consumedAt)));
  // This one is among them.
  if ((counted?.waiting ?? 0) <= limit) return;
  throw new AccessError(
    'too_many_requests',
    `${limit} events of yours wait at this execution, which is the limit for one sender; send more when a task has taken some`,
    { retryAfter: 60 },
  );
}

/** Whether an approval that is open now asks this person; one that asked them earlier gives them no say any more (design §14.2). */
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
