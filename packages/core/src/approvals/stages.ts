import { AccessError } from '@belay/contract/errors';
import type { ApprovalRule } from '@belay/db';
import { callWith } from '@belay/engine';
import type { Json } from '@belay/workflow';
import { approveWith } from '../configuration/function-checks.js';
import type { Store } from '../context.js';
import { requireDuration } from '../duration.js';
import { foldName } from '../people/names.js';
import type { FoundApproval } from './find.js';
import { stageOf } from './subject.js';
import type { Question } from './write-questions.js';

export type Stages = (typeof approveWith)['_output'];

/**
 * Returns the settings of a call of `access.approve`. Throws `invalid` when they are not valid, for example when they
 * name no approver.
 */
export function readStages(request: unknown): Stages {
  const settings = approveWith.safeParse(request ?? {});
  if (!settings.success) throw new AccessError('invalid', 'access.approve must name at least one approver');
  return settings.data;
}

/** Returns who decides at a stage, counted from 0. */
function ruleOf({ stages }: Stages, index: number): ApprovalRule {
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

type Content = Omit<Question, 'id' | 'stage' | 'rule' | 'expiresAt' | 'renews'>;

/** Returns the approval of one stage, counted from 0. The time of a stage begins when its approvers can see the request. */
export function questionOf(
  ctx: Store,
  content: Content,
  { settings, index, now }: { settings: Stages; index: number; now: Date },
): Question {
  const timeout = settings.stages[index]?.timeout;
  const lasts = timeout === undefined ? ctx.timing.approval : requireDuration(timeout, 'timeout');
  return {
    ...content,
    id: ctx.newId(),
    stage: index,
    rule: ruleOf(settings, index),
    expiresAt: new Date(now.getTime() + lasts),
  };
}

/** Returns the approval of the stage after this one, about the same content. */
export function nextStage(ctx: Store, last: FoundApproval, now: Date): Question {
  const { executionId, stepKey, excluded, knownAs, requestDigest: digest } = last;
  const subject = last.subject as Json;
  const settings = readStages(callWith(last.request));
  const content = { executionId, stepKey, excluded, knownAs, subject, digest };
  return questionOf(ctx, content, { settings, index: stageOf(last.rule).stage, now });
}
