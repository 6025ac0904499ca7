import { digestOf } from '@belay/contract/canonical';
import type { Transaction } from '@belay/db';
import type { Outcome } from '@belay/workflow';
import type { Store } from '../context.js';
import { NOT_APPROVED } from '../faults.js';
import { listSelves } from '../people/selves.js';
import type { Plan } from '../plans/plan.js';
import { type CurrentApproval, type ReadApprovals, readCurrentApprovals } from './current.js';
import { wouldBeElevated } from './elevated.js';
import type { ApprovalSubject } from './inbox.js';
import { stageOf } from './subject.js';

/**
 * The approvals by which a plan may be granted: which they are (`approvals_are`), who gave them, and until when; null when none was
 * needed.
 */
export interface Approved {
  are: string;
  approvers: string[];
  until: Date | null;
}

/** What the approvals of an execution mean for a plan. */
export type Judgement = { approved: Approved } | { refusal: Outcome } | { lapsed: CurrentApproval[] };

/**
 * Returns whether a plan may be granted. Fails closed, also when the workflow lacks a check: every approval of the
 * execution must be approved, must not have lapsed, and must cover the plan.
 */
export function judgeApprovals({ are, current }: ReadApprovals, plan: Plan): Judgement {
  if (current.some(({ status }) => status !== 'approved') || !hasEveryStage(current)) {
    return notApproved('The request was not approved');
  }
  const lapsed = current.filter((approval) => approval.lapsed);
  if (lapsed.length > 0) return { lapsed };
  if (current.some((approval) => !covers(approval, plan))) {
    const moved = new Set(current.flatMap((approval) => placesMoved(approval.subject, plan)));
    return notApproved(
      moved.size === 0
        ? 'The access to grant differs from the access that was approved'
        : `The access would be granted at another target than the approved one: ${[...moved].join(', ')} now leads to another target`,
    );
  }
  const ends = current.flatMap(({ until }) => (until ? [until.getTime()] : []));
  const approvers = [...new Set(current.flatMap((approval) => approval.approvers))];
  return { approved: { are, approvers, until: ends.length === 0 ? null : new Date(Math.min(...ends)) } };
}

/**
 * Returns whether each stage but the last is followed by the next one. In a rolling upgrade, a process of a version without
 * stages treats the first stage as the whole approval.
 */
function hasEveryStage(current: readonly CurrentApproval[]): boolean {
  const places = current.map(({ rule }) => stageOf(rule));
  const count = (stage: number, stages: number) =>
    places.filter((one) => one.stage === stage && one.stages === stages).length;
  return places.every(({ stage, stages }) => stage === stages || count(stage, stages) === count(stage + 1, stages));
}

/**
 * Returns the function that judges the approvals of an execution again, in the transaction of the intent. Other approvals than those
 * by which the plan was to be granted count as lapsed: the step looks at them again.
 */
export function confirmApprovals(executionId: string, lifetime: number, plan: Plan, approved: Approved | undefined) {
  return async (tx: Transaction): Promise<Judgement> => {
    const judged = judgeApprovals(await readCurrentApprovals(tx, executionId, lifetime), plan);
    return 'approved' in judged && judged.approved.are !== (approved?.are ?? '') ? { lapsed: [] } : judged;
  };
}

/** Returns whether an approval covers a plan: its own content, or the same content for a shorter time. */
function covers(approval: Pick<CurrentApproval, 'requestDigest' | 'subject'>, plan: Plan): boolean {
  if (approval.requestDigest === plan.digest) return true;
  const subject = approval.subject as { duration: number };
  return plan.duration <= subject.duration && samePlan(subject, plan);
}

function samePlan(subject: object, plan: Plan): boolean {
  const { digest: _digest, duration: _duration, knownAs: _names, ...rest } = plan;
  const { duration: _asked, ...approved } = subject as Record<string, unknown>;
  return digestOf(rest) === digestOf(approved);
}

/** Returns the providers of a plan whose target differs from the approved one. */
function placesMoved(subject: unknown, plan: Plan): string[] {
  const approved = (subject as ApprovalSubject).grants;
  return plan.grants
    .filter(({ provider, pin }) => approved.some((one) => one.provider === provider && one.pin?.target !== pin.target))
    .map(({ provider }) => provider);
}

/**
 * Returns the rejection of a plan that one of its approvers may not approve, because they would be elevated by it; null otherwise. A
 * decision waits for no provider, so this is where each approver's own identity is looked up. Throws `unavailable` while a provider
 * cannot return it.
 */
export async function refuseOwnApprovers(
  ctx: Store,
  { approvers }: Approved,
  plan: Plan,
): Promise<{ refusal: Outcome } | null> {
  for (const id of approvers) {
    const selves = await listSelves(ctx.db, id);
    if (await wouldBeElevated(ctx, selves, plan)) {
      return notApproved('The access was approved by a person to whom it would be granted');
    }
  }
  return null;
}

function notApproved(detail: string): { refusal: Outcome } {
  return { refusal: { ok: false, fault: { type: NOT_APPROVED, status: 403, title: 'Not approved', detail } } };
}
