import { longestDuration } from '@belay/contract/durations';
import type { RetryDefinition, TaskOf } from '../document/definition.js';
import { evaluateCondition } from '../expression/evaluate.js';
import { CANCELLED, sameFaultType } from '../fault.js';
import { evaluateDuration, taskSight } from '../machine/data.js';
import type { Run, Variables } from '../machine/run.js';
import type { Frame } from '../machine/state.js';
import type { Fault } from '../types.js';

type TryTask = TaskOf<'try'>;

/** Returns whether a `catch` catches a fault, by its filter and its conditions. */
export async function catches(
  run: Run,
  frame: Frame,
  task: TryTask,
  variables: Variables,
  fault: Fault,
): Promise<boolean> {
  const filter = task.catch.errors?.with ?? {};
  if (fault.type === CANCELLED && filter.type !== CANCELLED) return false;
  if (filter.type !== undefined && !sameFaultType(filter.type, fault.type)) return false;
  if (filter.status !== undefined && filter.status !== fault.status) return false;
  if (filter.instance !== undefined && filter.instance !== fault.instance) return false;
  if (filter.title !== undefined && filter.title !== fault.title) return false;
  const detail = filter.detail ?? filter.details;
  if (detail !== undefined && detail !== fault.detail) return false;
  return await holdsFor(run, frame, variables, task.catch);
}

/** Returns the retry policy of a `catch`, inline or by name. */
export function retryPolicy(run: Run, task: TryTask): RetryDefinition | undefined {
  const { retry } = task.catch;
  return (typeof retry === 'string' ? run.workflow.use?.retries?.[retry] : retry) as RetryDefinition | undefined;
}

/**
 * Returns the milliseconds until retry number `retry` (1 is the first), or null when the policy allows no more. The
 * delay grows by the backoff; the jitter comes from a hash of the execution, the task and the number, so that
 * computing it again gives the same delay.
 */
export async function retryDelay(
  run: Run,
  frame: Frame,
  task: TryTask,
  variables: Variables,
  retry: number,
): Promise<number | null> {
  const policy = retryPolicy(run, task);
  if (!policy) return null;
  if (!(await holdsFor(run, frame, variables, policy))) return null;
  if (policy.limit?.attempt?.count !== undefined && retry > policy.limit.attempt.count) return null;
  const sight = taskSight(run, frame, variables);
  let delay = policy.delay === undefined ? 0 : await evaluateDuration(policy.delay, sight);
  if (policy.backoff && 'linear' in policy.backoff) delay *= retry;
  if (policy.backoff && 'exponential' in policy.backoff) delay *= 2 ** (retry - 1);
  if (policy.jitter) {
    const from = await evaluateDuration(policy.jitter.from, sight);
    const to = await evaluateDuration(policy.jitter.to, sight);
    delay += from + Math.round(Math.max(0, to - from) * fraction(`${run.env.executionId}${frame.key}:${retry}`));
  }
  delay = Math.min(delay, longestDuration);
  if (policy.limit?.duration !== undefined) {
    const limit = await evaluateDuration(policy.limit.duration, sight);
    if (Date.parse(run.env.now) + delay > Date.parse(frame.startedAt) + limit) return null;
  }
  return delay;
}

async function holdsFor(
  run: Run,
  frame: Frame,
  variables: Variables,
  { when, exceptWhen }: { when?: string | undefined; exceptWhen?: string | undefined },
): Promise<boolean> {
  const sight = taskSight(run, frame, variables);
  if (when !== undefined && !(await evaluateCondition(when, sight))) return false;
  return exceptWhen === undefined || !(await evaluateCondition(exceptWhen, sight));
}

/** Returns a hash of a text (FNV-1a with a final mix), spread evenly over [0, 1): jitter needs no more. */
function fraction(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash ^= hash >>> 13;
  return (hash >>> 0) / 2 ** 32;
}
