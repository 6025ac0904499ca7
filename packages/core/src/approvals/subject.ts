import type { ApprovalRule } from '@belay/db';
import type { Json } from '@belay/workflow';
import type { Plan } from '../plans/plan.js';
import { foldName } from './exclusion.js';

/**
 * Returns what the approver is shown; the digest covers exactly this, and nothing in it comes from the requester's own
 * labels.
 */
export function subjectOf(plan: Plan): Json {
  const { role, reason, duration, grants, requester } = plan;
  return { role, reason, duration, requester, grants: grants as unknown as Json };
}

/** Returns the names that may never decide: those of the requester and of the person to be elevated. No configuration changes that (docs/architecture.md, section 9). */
export function excludedFrom(plan: Plan, requester: string): string[] {
  const names = [requester, ...plan.grants.flatMap((grant) => [grant.identity, grant.identityEmail])];
  return [...new Set(names.filter(Boolean).map(foldName))];
}

/** Returns a rule in words. */
export function describeRule(rule: ApprovalRule): string {
  const who = [...rule.users, ...rule.groups.map((group) => `the group ${group}`)].join(', ');
  return rule.count === 1 ? who : `${rule.count} of ${who}`;
}
