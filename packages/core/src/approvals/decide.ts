import type { Decided, Decision } from '@belay/contract/approvals';
import { isNamed } from '@belay/contract/audience';
import { AccessError, notFound } from '@belay/contract/errors';
import { limits } from '@belay/contract/limits';
import { decisions, execute, executeBeside, joinTexts, type SqlText, sqlText, type Transaction } from '@belay/db';
import {
  claiming,
  performStep,
  retryDeadlock,
  type StepOutcome,
  storingOutcome,
  turnJob,
  waitingOn,
} from '@belay/engine';
import { requireFreshGroups, requireUser } from '../actor.js';
import type { ActorContext, ActorStore, UserActor } from '../context.js';
import { appending, type LedgerEntry } from '../ledger/append.js';
import { causeOf, tellingJoins } from '../people/joins.js';
import { listSelves, type Self } from '../people/selves.js';
import { requireText } from '../text.js';
import { isKnownToBeElevated } from './elevated.js';
import { isExcluded, isRequester } from './exclusion.js';
import { type FoundApproval, findApprovals, identifyDecisions, type Made } from './find.js';
import type { ApprovalSubject } from './inbox.js';
import { mustDecideOnPage } from './on-page.js';
import { type Settlement, settleStep, writingSettlement } from './settle.js';
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

/**
 * Records an approver's decision, and the outcome of the approval when the decision settles it, in one statement that commits itself
 * (docs/architecture.md, section 5); the execution's turn follows. It waits for no provider: what is not known of the approver's
 * identity is looked up before the access is granted. Throws `not_found` for a person who is neither approver nor requester,
 * `forbidden` for the requester, the person to be elevated, and where `refuseAgain` or `requireNoPage` do not permit the
 * decision, `conflict` for a second decision, a closed approval or other content, `unavailable` when a provider cannot return
 * the approver's groups, and `unauthenticated` when the login has ended.
 */
export async function decideApproval(ctx: ActorContext, input: Decide): Promise<Decided> {
  const user = requireUser(ctx);
  requireFreshGroups(user);
  if (input.comment !== undefined) requireText(input.comment, 'comment', limits.remark);
  return tellingJoins(ctx, () => decide(ctx, user, input));
}

async function decide(ctx: ActorContext, user: UserActor, input: Decide): Promise<Decided> {
  for (let made = 0; made < tries; made += 1) {
    const judged = await judge(ctx, user, input);
    if (await record(ctx, user, input, judged)) return decidedAs(ctx, judged);
    // The login has ended, or another decision was first: then it counts too.
    await ctx.db.transaction((tx) => requireLive(ctx, tx, user, input.via));
  }
  throw new AccessError('conflict', 'The request is being decided by others at the same time; try again');
}

/** How often a decision is judged while it loses against others. */
const tries = 5;

interface Judged {
  approval: FoundApproval;
  found: readonly FoundApproval[];
  settlement: Settlement;
}

/** Returns what a decision means, by the approvals and decisions as they are now; throws when it may not be made. */
async function judge(ctx: ActorContext, user: UserActor, input: Decide): Promise<Judged> {
  const found = await findApprovals(ctx.db, input.id, user.id);
  const approval = choose(found, user, input.id);
  if (!approval) throw notFound('The approval');
  const selves = await requireApprover(ctx, user, approval, input.verdict);
  if (input.via === 'message') requireNoPage(ctx, approval);
  if (input.request_digest !== undefined && input.request_digest !== approval.requestDigest) {
    throw new AccessError('conflict', 'The request has changed since you viewed it');
  }
  if (input.seenAt !== undefined && input.seenAt < approval.createdAt) {
    throw new AccessError(
      'conflict',
      'The approval was requested again after you viewed it; review the request and decide again',
    );
  }
  const { executionId, ownerId, stepKey: key, now } = approval;
  if (approval.ended) throw new AccessError('conflict', 'The request has ended');
  // A late decision does not count: an approval past its time counts as denied (docs/architecture.md, section 5).
  if (approval.status !== 'open' || approval.expiresAt <= now || approval.request === null)
    throw new AccessError('conflict', 'The request has already been decided, or its approval has expired');
  refuseAgain(user, selves, found, approval, input.verdict);
  const made = {
    approverId: user.id,
    approver: approval.reader ?? user.email,
    verdict: input.verdict,
    comment: input.comment ?? null,
    at: now,
  };
  const decided = found.map((one) => (one === approval ? { ...one, made: [...one.made, made] } : one));
  const settlement = await settleStep(ctx, ctx.db, { executionId, ownerId, key, found: decided, now });
  return { approval, found, settlement };
}

/**
 * Writes a decision and what it settles. Returns false, and writes nothing, when the person may no longer decide, or when the
 * approvals or the decisions have changed.
 */
async function record(
  ctx: ActorContext,
  user: UserActor,
  input: Decide,
  { approval, found, settlement }: Judged,
): Promise<boolean> {
  const { executionId, stepKey: key } = approval;
  const { outcome } = settlement;
  // With a worker's place in this process, the turn belongs to this process; otherwise the row and a job lead to a worker.
  const place = outcome && ctx.waker.reserve?.({ queue: 'executions' });
  const claimId = ctx.newId();
  const lease = place ? { milliseconds: ctx.timing.turnLease, claimId } : undefined;
  const statement = writingDecision(ctx, user, input, { approval, found, settlement, lease });
  const written = await claiming(ctx, place ? [claimId] : [], () =>
    retryDeadlock(() => executeBeside(ctx.db, statement, [executionId])),
  ).catch((error: unknown) => {
    place?.release();
    throw error;
  });
  if (written.length === 0) {
    place?.release();
    return false;
  }
  ctx.crashpoint('decided');
  if (place) place.run(() => performStep(ctx, { executionId, key }, { leased: true, claimId }));
  else if (outcome) ctx.waker.wake([turnJob(executionId)]);
  else if (settlement.continues) ctx.waker.wake([{ queue: 'executions', executionId, key }]);
  return true;
}

function writingDecision(
  ctx: ActorContext,
  user: UserActor,
  { verdict, comment, via }: Decide,
  { approval, found, settlement, lease }: Judged & { lease: StepOutcome['lease'] },
): SqlText {
  const { id, executionId, ownerId, stepKey: key, requestDigest, expiresAt, now } = approval;
  const { outcome, continues } = settlement;
  const moved = sqlText`moved`;
  const when = sqlText`exists (select from moved)`;
  const { parts, entries } = writingSettlement(settlement, { executionId, ownerId }, moved);
  const decided: LedgerEntry = {
    type: 'approval.decided',
    message: `${user.email} ${verdict === 'approve' ? 'approved' : 'denied'} the request${comment ? `: ${comment}` : ''}`,
    actor: user,
    userId: ownerId,
    executionId,
    data: { verdict, via, request_digest: requestDigest, approver_id: user.id },
  };
  const all = [
    // One after the other, in the order of the locks: the person, the execution.
    sqlText`admitted as materialized (
      select case when ${admittingPerson(ctx, user, { via, alone: false })} then admit_decision(${executionId}::uuid, ${key}, ${identifyDecisions(found)}) end as is)`,
    sqlText`moved as materialized (
      select ${executionId}::uuid as id from admitted where admitted.is and ${expiresAt.toISOString()}::timestamptz > app_now())`,
    sqlText`decided as (
      insert into ${decisions} (approval_id, approver_id, verdict, comment, request_digest, via, decided_at)
      select ${id}::uuid, ${user.id}::uuid, ${verdict}, ${comment ?? null}, ${requestDigest}, ${via}, ${now.toISOString()}::timestamptz from moved)`,
    ...parts,
    ...(outcome ? [sqlText`stored as (${storingOutcome({ executionId, key, outcome, lease }, when)})`] : []),
    ...(continues ? [sqlText`waits as (${waitingOn({ executionId, key }, { ...continues, after: 0 }, when)})`] : []),
    appending([decided, ...entries], { when: moved }),
  ];
  return sqlText`with ${joinTexts(all, ', ')} select id, (select count(*) from notified) from moved`;
}

/** Returns what the caller is told of a decision that was recorded. */
function decidedAs(ctx: ActorContext, { approval, settlement }: Judged): Decided {
  const { id, executionId, rule, createdAt, now } = approval;
  const status = settlement.closings.find((closing) => closing.id === id)?.status ?? 'open';
  if (status === 'approved' || status === 'denied') {
    ctx.meter?.decided((now.getTime() - createdAt.getTime()) / 1_000, status);
  }
  return { id, status, execution_id: executionId, ...stageOf(rule) };
}

/**
 * Throws `conflict` for a second decision, and `forbidden` for an approver of another stage, or of another step where steps want
 * distinct people. All identities of a person are one person, also those that were linked since the request.
 */
function refuseAgain(
  user: UserActor,
  selves: readonly Self[],
  found: readonly FoundApproval[],
  approval: FoundApproval,
  verdict: Decide['verdict'],
): void {
  const ids = new Set(selves.map(({ id }) => id));
  const own = ({ made }: FoundApproval) => made.filter(({ approverId }) => ids.has(approverId));
  const causeBy = (made: readonly Made[]) =>
    causeOf(
      user.id,
      selves.filter(({ id }) => made.some(({ approverId }) => approverId === id)),
    );
  const mine = own(approval);
  if (mine.length > 0) throw new AccessError('conflict', 'You have already decided on this request', causeBy(mine));
  // A denial always counts.
  if (verdict === 'deny') return;
  // An approval that was requested again counts as the first one.
  const first = firstOf(found, approval);
  const isOther = ({ id, rule, stepKey }: Asked) =>
    id !== first.id && (first.rule.distinct === true || rule.distinct === true || stepKey === first.stepKey);
  const twice = found
    .filter((one) => isOther(firstOf(found, one)))
    .flatMap(own)
    .filter((made) => made.verdict === 'approve');
  if (twice.length > 0) {
    const message = 'You have approved another step of this request; this one is for another person';
    throw new AccessError('forbidden', message, causeBy(twice));
  }
}

const about = ({ createdAt: at, ownerId }: FoundApproval) => ({ at, ownerId });

type Asked = Pick<FoundApproval, 'id' | 'renews' | 'rule' | 'stepKey'>;

/** Returns the first approval in the chain of approvals that this one renews. */
function firstOf(asked: readonly Asked[], { id }: { id: string }): Asked {
  const found = asked.find((one) => one.id === id);
  if (!found) throw new Error('An approval of the request is not among its approvals');
  return found.renews === null ? found : firstOf(asked, { id: found.renews });
}

/** Throws `forbidden` for the requester and for the person to be elevated, by any of their identities. */
function requireOther(user: UserActor, selves: readonly Self[], approval: FoundApproval): void {
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

/**
 * Returns the approval by its id, or of an execution the open approval whose rule names this person, otherwise the
 * first one; null when there is no approval.
 */
export async function findApproval(ctx: ActorStore, user: UserActor, id: string): Promise<FoundApproval | null> {
  return choose(await findApprovals(ctx.db, id), user, id);
}

function choose(found: readonly FoundApproval[], user: UserActor, id: string): FoundApproval | null {
  const [first] = found;
  if (first?.id === id) return first;
  return found.find(({ status, rule }) => status === 'open' && isNamed(user, rule)) ?? first ?? null;
}

/**
 * Returns all identities of an approver. Throws `not_found` for a person whom the rule does not name, and `forbidden` for the
 * requester and the person to be elevated, even when the rule names them (docs/architecture.md, section 9).
 */
async function requireApprover(
  ctx: ActorStore,
  user: UserActor,
  approval: FoundApproval,
  verdict: Decide['verdict'],
): Promise<Self[]> {
  if (user.id === approval.ownerId) throw ownRequest();
  if (!isNamed(user, approval.rule)) throw notFound('The approval');
  // A person with several identities is one person under each of them.
  const selves = [user, ...(await listSelves(ctx.db, user.id, about(approval)))];
  requireOther(user, selves, approval);
  // A denial grants nothing.
  if (verdict === 'approve' && (await isKnownToBeElevated(ctx, selves, approval.subject as ApprovalSubject)))
    throw ownAccess();
  return selves;
}

/** Throws `forbidden` where the role counts only decisions that were made in Belay itself. */
function requireNoPage(ctx: ActorStore, { subject }: FoundApproval): void {
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
  const [person] = await execute<{ is: boolean }>(
    tx,
    sqlText`select ${admittingPerson(ctx, user, { via, alone: true })} as is`,
  );
  if (!person?.is) throw new AccessError('unauthenticated', 'Your session has ended; sign in again');
}

/**
 * Returns the call that locks a person and returns whether they may act now: by their login, or for a button in a message without.
 * `alone`: no other act of the person runs at the same time, so that acts can be counted.
 */
function admittingPerson(
  ctx: ActorStore,
  { id, provider, subject, loginId }: UserActor,
  { via, alone }: { via: Decide['via']; alone: boolean },
): SqlText {
  const login = via === 'message' ? null : loginId;
  const lately = `${ctx.catalog.current().loginEnd.device} milliseconds`;
  return sqlText`admit_person(${id}::uuid, ${login}::uuid, ${provider}, ${subject}, ${lately}::interval, ${alone})`;
}
