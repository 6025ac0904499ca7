import { AccessError } from '@belay/contract/errors';
import { type ApprovalRule, approvals, inOrder, type Transaction } from '@belay/db';
import { callWith } from '@belay/engine';
import type { Json } from '@belay/workflow';
import { approveWith } from '../configuration/function-checks.js';
import type { Store } from '../context.js';
import { requireDuration } from '../duration.js';
import { appendLedger } from '../ledger/append.js';
import { foldName } from '../people/names.js';
import { describeRule } from './subject.js';

/**
 * Returns the settings of a call of `access.approve`. Throws `invalid` when they are not valid, for example when they
 * name no approver.
 */
export function readStages(request: unknown): (typeof approveWith)['_output'] {
  const settings = approveWith.safeParse(request ?? {});
  if (!settings.success) throw new AccessError('invalid', 'access.approve must name at least one approver');
  return settings.data;
}

/** Returns who decides at a stage, counted from 0. */
function ruleOf({ stages }: ReturnType<typeof readStages>, index: number): ApprovalRule {
  const stage = stages[index];
  if (stage === undefined) throw new Error(`access.approve has no stage ${index + 1}`);
  const { approvers, count, refusals, distinct } = stage;
  return {
    users: approvers.users.map(foldName),
    groups: approvers.groups,
    count,
    refusals,
    ...(distinct === true ? { distinct } : {}),
    ...(stages.length === 1 ? {} : { stage: index + 1, stages: stages.length }),
  };
}

interface Opening {
  executionId: string;
  key: string;
  ownerId: string;
  request: unknown;
  /** Counted from 0. */
  index: number;
  excluded: string[];
  /** Null after a stage that an older version opened. */
  knownAs: string[] | null;
  subject: Json;
  digest: string;
  now: Date;
}

/**
 * Submits a request to the approvers of one stage, in the transaction of the caller. The time of a stage begins when its
 * approvers can see the request. Returns the id, the rule and the expiry of the new approval.
 */
export async function openStage(
  ctx: Store,
  tx: Transaction,
  { executionId, key, ownerId, request, index, excluded, knownAs, subject, digest, now }: Opening,
): Promise<{ id: string; rule: ApprovalRule; expiresAt: Date }> {
  const settings = readStages(callWith(request));
  const rule = ruleOf(settings, index);
  const timeout = settings.stages[index]?.timeout;
  const expiresAt = new Date(
    now.getTime() + (timeout === undefined ? ctx.timing.approval : requireDuration(timeout, 'timeout')),
  );
  const id = ctx.newId();
  await inOrder([
    tx
      .insert(approvals)
      .values({
        id,
        executionId,
        stepKey: key,
        stage: index,
        rule,
        excluded,
        knownAs,
        subject,
        requestDigest: digest,
        status: 'open',
        expiresAt,
      })
      .onConflictDoNothing(),
    appendLedger(tx, [
      {
        type: 'approval.opened',
        message: `Waiting for approval by ${describeRule(rule)}`,
        actor: { kind: 'system', name: 'approvals' },
        userId: ownerId,
        executionId,
        data: { rule, request_digest: digest, expires_at: expiresAt.toISOString() },
      },
    ]),
  ]);
  return { id, rule, expiresAt };
}
