import type { ApprovalRule } from '@belay/db';
import type { Json } from '@belay/workflow';
import { foldName } from '../people/names.js';
import type { Plan } from '../plans/plan.js';

/**
 * Returns what approvers are shown: exactly the content that the digest covers. Its names are those of the catalog and of
 * the providers, not labels that the requester chose.
 */
export function subjectOf(plan: Plan): Json {
  const { role, reason, duration, grants, requester } = plan;
  return { role, reason, duration, requester, grants: grants as unknown as Json };
}

/**
 * Returns the names that may never decide: those of the requester and of the person to be elevated. No configuration
 * changes that (docs/architecture.md, section 9).
 */
export function excludedFrom(plan: Plan, requester: string): string[] {
  const names = [requester, ...plan.grants.flatMap((grant) => [grant.identity, grant.identityEmail])];
  return [...new Set([...names.filter(Boolean).map(foldName), ...plan.knownAs.flat()])];
}

/** Returns a rule in words, with its stage when there are several. */
export function describeRule({ users, groups, count, stage, stages }: ApprovalRule): string {
  const who = [...users, ...groups.map((group) => `the group ${group}`)].join(', ');
  const deciders = count === 1 ? who : `${count} of ${who}`;
  return stages === undefined ? deciders : `${deciders} (stage ${stage} of ${stages})`;
}

/** Returns which stage of its step an approval is, from 1, and of how many. */
export function stageOf({ stage = 1, stages = 1 }: ApprovalRule): { stage: number; stages: number } {
  return { stage, stages };
}

/** Returns whether another stage of the same step comes after this one. */
export function hasMore(rule: ApprovalRule): boolean {
  const { stage, stages } = stageOf(rule);
  return stage < stages;
}
