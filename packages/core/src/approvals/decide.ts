import type { Decided, Decision } from '@belay/contract/approvals';
import { isNamed } from '@belay/contract/audience';
import { AccessError, notFound } from '@belay/contract/errors';
import { limits } from '@belay/contract/limits';
import {
  type ApprovalStatus,
  approvals,
  decisions,
  inOrder,
  logins,
  type Transaction,
  userIdentities,
  users,
} from '@belay/db';
import { lockExecution, retryDeadlock, storeOutcome, turnJob } from '@belay/engine';
import { and, eq, gt, inArray, sql } from 'drizzle-orm';
import { requireFreshGroups, requireUser } from '../actor.js';
import type { ActorStore, Job, UserActor } from '../context.js';
import { appendLedger } from '../ledger/append.js';
import { causeOf, tellingJoins } from '../people/joins.js';
import { wasToldLately } from '../people/people.js';
import { listSelves, type Self } from '../people/selves.js';
import { requireText } from '../text.js';
import { wouldBeElevated } from './elevated.js';
import { isExcluded, isRequester } from './exclusion.js';
import { type FoundApproval, findApprovals } from './find.js';
import type { ApprovalSubject } from './inbox.js';
import { mustDecideOnPage } from './on-page.js';
import { settleApproval, settleRenewals } from './settle.js';
import { stageOf } from './subject.js';

export interface Decide extends Decision {
  /**
   * When the approver viewed the request, if known: an approval that was requested after that is not the one they viewed,
   * even with equal content.
   */
  seenAt?: Date | undefined;
  /** `message`: by a button in a message, of a person without a login here. */
  via: 'api' | 'signal' | 'resume' | 'page' | 'message';
}

type Approval = FoundApproval;

/**
 * Records an approver's decision, and the outcome of the approval when the decision settles it, in one transaction
 * (docs/architecture.md, section 5); the execution's turn follows. Throws `not_found` for a person who is neither
 * approver nor requester, `forbidden` for the requester, the person to be elevated, and where `refuseSelf` or
 * `requireNoPage` do not permit the decision, `conflict` for a second decision, a closed approval or other content,
 * `unavailable` when a provider cannot return the approver's groups or identity, and `unauthenticated` when the login
 * has ended.
 */
export async function decideApproval(ctx: ActorStore, input: Decide): Promise<Decided> {
  const user = requireUser(ctx);
  requireFreshGroups(user);
  if (input.comment !== undefined) requireText(input.comment, 'comment', limits.remark);
  const found = await findApproval(ctx, user, input.id);
  if (!found) throw notFound('The approval');
  return tellingJoins(ctx, () => decide(ctx, user, input, found));
}

async function decide(ctx: ActorStore, user: UserActor, input: Decide, found: Approval): Promise<Decided> {
  await requireApprover(ctx, user, found, input.verdict);
  if (input.via === 'message') requireNoPage(ctx, found);
  if (input.request_digest !== undefined && input.request_digest !== found.requestDigest) {
    throw new AccessError('conflict', 'The request has changed since you viewed it');
  }
  if (input.seenAt !== undefined && input.seenAt < found.createdAt) {
    throw new AccessError(
      'conflict',
      'The approval was requested again after you viewed it; review the request and decide again',
    );
  }
  const { status, due, at } = await retryDeadlock(() =>
    ctx.db.transaction((tx) => record(ctx, tx, { user, input, found })),
  );
  ctx.crashpoint('decided');
  if (status === 'approved' || status === 'denied') {
    ctx.meter?.decided((at.getTime() - found.createdAt.getTime()) / 1_000, status);
  }
  if (due) ctx.waker.wake([due]);
  return { id: found.id, status, execution_id: found.executionId, ...stageOf(found.rule) };
}

/** Writes a decision, and stores the outcome of the step when the decision settles it. */
async function record(
  ctx: ActorStore,
  tx: Transaction,
  { user, input, found }: { user: UserActor; input: Decide; found: Approval },
): Promise<{ status: ApprovalStatus; due: Job | null; at: Date }> {
  const { executionId, stepKey } = found;
  const execution = await lockExecution(tx, executionId, stepKey);
  if (!execution) throw new AccessError('conflict', 'The request has ended');
  // The provider was called since the login was verified, which can take seconds.
  await requireLive(ctx, tx, user, input.via);
  const [row] = await tx
    .select({ status: approvals.status, expired: sql<boolean>`${approvals.expiresAt} <= app_now()` })
    .from(approvals)
    .where(eq(approvals.id, found.id))
    .for('update');
  // A late decision does not count: an approval past its time counts as denied (docs/architecture.md, section 5).
  if (row?.status !== 'open' || row.expired || !execution.step)
    throw new AccessError('conflict', 'The request has already been decided, or its approval has expired');
  await refuseSelf(tx, user, found, input.verdict);
  const [made] = await tx
    .insert(decisions)
    .values({
      approvalId: found.id,
      approverId: user.id,
      verdict: input.verdict,
      comment: input.comment ?? null,
      requestDigest: found.requestDigest,
      via: input.via,
    })
    .onConflictDoNothing()
    .returning({ approvalId: decisions.approvalId });
  if (!made) throw new AccessError('conflict', 'You have already decided on this request');
  await appendLedger(tx, [
    {
      type: 'approval.decided',
      message: `${user.email} ${input.verdict === 'approve' ? 'approved' : 'denied'} the request${input.comment ? `: ${input.comment}` : ''}`,
      actor: user,
      userId: found.ownerId,
      executionId,
      data: { verdict: input.verdict, via: input.via, request_digest: found.requestDigest, approver_id: user.id },
    },
  ]);
  const progress = await (found.renews === null
    ? settleApproval(ctx, tx, execution, stepKey)
    : settleRenewals(tx, execution, stepKey));
  if (progress) {
    const { outcome } = progress;
    await storeOutcome(tx, { executionId, key: stepKey, outcome });
    return {
      status: outcome.ok && isApproved(outcome.value) ? 'approved' : 'denied',
      due: turnJob(executionId),
      at: execution.now,
    };
  }
  // More decisions are needed, and the execution waits for them. A granting step that requested approval again continues
  // by a job of its own when it is approved.
  const [after] = await tx.select({ status: approvals.status }).from(approvals).where(eq(approvals.id, found.id));
  const status = after?.status ?? 'open';
  const due: Job | null = status === 'approved' ? { queue: 'executions', executionId, key: stepKey } : null;
  return { status, due, at: execution.now };
}

/**
 * Throws `conflict` for a second decision, and `forbidden` for the requester, the person to be elevated, and an approver of
 * another stage, or of another step where steps want distinct people. All identities of a person are one person, also those
 * that were linked since the request. The caller holds the execution's lock.
 */
async function refuseSelf(
  tx: Transaction,
  user: UserActor,
  approval: Approval,
  verdict: Decide['verdict'],
): Promise<void> {
  const selves = await listSelves(tx, user.id, about(approval));
  requireOther(user, selves, approval);
  const ids = [user.id, ...selves.map(({ id }) => id)];
  const own = and(eq(decisions.approvalId, approvals.id), inArray(decisions.approverId, ids));
  const asked = await tx
    .select({
      id: approvals.id,
      renews: approvals.renews,
      rule: approvals.rule,
      stepKey: approvals.stepKey,
      verdict: decisions.verdict,
      approverId: decisions.approverId,
    })
    .from(approvals)
    .leftJoin(decisions, own)
    .where(eq(approvals.executionId, approval.executionId));
  const causeBy = (decided: typeof asked) =>
    causeOf(
      user.id,
      [user, ...selves].filter(({ id }) => decided.some(({ approverId }) => approverId === id)),
    );
  const made = asked.filter((one) => one.id === approval.id && one.verdict !== null);
  if (made.length > 0) throw new AccessError('conflict', 'You have already decided on this request', causeBy(made));
  // A denial always counts.
  if (verdict === 'deny') return;
  // An approval that was requested again counts as the first one.
  const first = firstOf(asked, approval);
  const again = asked.filter((one) => one.verdict === 'approve' && firstOf(asked, one).id !== first.id);
  const isOther = ({ rule, stepKey }: Asked) =>
    first.rule.distinct === true || rule.distinct === true || stepKey === first.stepKey;
  const twice = again.filter((one) => isOther(firstOf(asked, one)));
  if (twice.length > 0) {
    const message = 'You have approved another step of this request; this one is for another person';
    throw new AccessError('forbidden', message, causeBy(twice));
  }
}

const about = ({ createdAt: at, ownerId }: Approval) => ({ at, ownerId });

type Asked = Pick<Approval, 'id' | 'renews' | 'rule' | 'stepKey'>;

/** Returns the first approval in the chain of approvals that this one renews. */
function firstOf(asked: readonly Asked[], { id }: { id: string }): Asked {
  const found = asked.find((one) => one.id === id);
  if (!found) throw new Error('An approval of the request is not among its approvals');
  return found.renews === null ? found : firstOf(asked, { id: found.renews });
}

/** Throws `forbidden` for the requester and for the person to be elevated, by any of their identities. */
function requireOther(user: UserActor, selves: readonly Self[], approval: Approval): void {
  const requester = selves.filter((self) => isRequester([self], approval));
  if (requester.length > 0) throw ownRequest(causeOf(user.id, requester));
  const elevated = selves.filter((self) => isExcluded([self], approval));
  if (elevated.length > 0) throw ownAccess(causeOf(user.id, elevated));
}

function ownRequest(because: { cause?: Error } = {}): AccessError {
  return new AccessError('forbidden', 'You cannot decide on your own request', because);
}

function ownAccess(because: { cause?: Error } = {}): AccessError {
  return new AccessError('forbidden', 'You cannot decide on access that is granted to you', because);
}

function isApproved(value: unknown): boolean {
  return value !== null && typeof value === 'object' && 'approved' in value && value.approved === true;
}

/**
 * Returns the approval by its id, or of an execution the open approval whose rule names this person, otherwise the
 * first one; null when there is no approval.
 */
export async function findApproval(ctx: ActorStore, user: UserActor, id: string): Promise<Approval | null> {
  const found = await findApprovals(ctx, id);
  const [first] = found;
  if (first?.id === id) return first;
  return found.find(({ status, rule }) => status === 'open' && isNamed(user, rule)) ?? first ?? null;
}

/**
 * Throws `not_found` for a person whom the rule does not name, and `forbidden` for the requester and the person to be
 * elevated, even when the rule names them (docs/architecture.md, section 9).
 */
async function requireApprover(
  ctx: ActorStore,
  user: UserActor,
  approval: Approval,
  verdict: Decide['verdict'],
): Promise<void> {
  if (user.id === approval.ownerId) throw ownRequest();
  if (!isNamed(user, approval.rule)) throw notFound('The approval');
  // A person with several identities is one person under each of them.
  const selves = [user, ...(await listSelves(ctx.db, user.id, about(approval)))];
  requireOther(user, selves, approval);
  // A denial grants nothing, so no provider needs to be called.
  if (verdict === 'deny') return;
  if (await wouldBeElevated(ctx, selves, approval.subject as ApprovalSubject)) throw ownAccess();
}

/** Throws `forbidden` where the role counts only decisions that were made in Belay itself. */
function requireNoPage(ctx: ActorStore, { subject }: Approval): void {
  if (!mustDecideOnPage(ctx, (subject as ApprovalSubject).role)) return;
  throw new AccessError('forbidden', 'This role is decided on in Belay only: open the request there');
}

/**
 * Makes `stopUser` wait until this transaction has ended: otherwise a running decision could be recorded after its person
 * was stopped. Throws `unauthenticated` when the person has left, or when the login has ended since it was verified; for a
 * button in a message, which has no login, when the person has not signed in for too long.
 */
export async function requireLive(
  ctx: ActorStore,
  tx: Transaction,
  user: UserActor,
  via: Decide['via'],
): Promise<void> {
  const { id, provider, subject, loginId } = user;
  const live = and(eq(logins.id, loginId), gt(logins.expiresAt, sql`app_now()`));
  const own = and(eq(userIdentities.userId, id), eq(userIdentities.provider, provider));
  const [[person], login] = await inOrder([
    // The same lock as `stopUser` and the count of open requests: it excludes both, but not the lock of a foreign key check.
    tx.select({ leftAt: users.deprovisionedAt }).from(users).where(eq(users.id, id)).for('no key update'),
    via === 'message'
      ? tx
          .select({ id: userIdentities.userId })
          .from(userIdentities)
          .where(and(own, eq(userIdentities.subject, subject), wasToldLately(ctx)))
      : tx.select({ id: logins.id }).from(logins).where(live),
  ]);
  if (login.length === 0 || !person || person.leftAt !== null)
    throw new AccessError('unauthenticated', 'Your session has ended; sign in again');
}
