import { printable } from '@belay/contract/printable';
import type { BelayClient, ExecutionDetails, ExecutionEvent } from '@belay/sdk';
import { CliError } from './cli-error.js';
import { describeTimeLeft } from './duration.js';
import { type ExitCode, exitCodes } from './exit-codes.js';
import type { Output } from './output/output.js';
import { createProgress } from './output/progress.js';
import { describeState } from './output/render-request.js';
import type { Shell } from './shell.js';

export interface FollowOptions {
  /** `active`: until all access is active, or the request has ended; `over`: until the request has ended and no access is left. */
  until: 'active' | 'over';
  lastEventId?: string | undefined;
}

function describeEvent({ timestamp, event_type, message, task }: ExecutionEvent, { colours }: Output): string {
  return [
    colours.dim(printable(timestamp)),
    colours.bold(printable(event_type)),
    printable(task ?? ''),
    printable(message),
  ]
    .filter(Boolean)
    .join(colours.isColorSupported ? '  ' : '\t');
}

/** Returns whether access of a request is active and none of its access is still being granted. */
export function isActive({ grants }: ExecutionDetails): boolean {
  return grants.some(({ state }) => state === 'active') && grants.every(({ state }) => state !== 'granting');
}

/** The events after which the request is read again, because their messages do not have all details. */
const telling = /^(approval|entitlement|grant)\./;

/** Describes the approvers that a request waits for; undefined when no approval is open. */
export function describeWait({ approvals }: ExecutionDetails): string | undefined {
  const open = approvals.find((approval) => approval.status === 'open');
  if (open === undefined) return undefined;
  const { users, groups } = open.approvers;
  const stage = open.stages > 1 ? ` (stage ${open.stage} of ${open.stages})` : '';
  return `waiting for approval by ${[...users, ...groups].join(', ') || 'an approver'}${stage}`;
}

/** Describes how a request ended. */
export function endedWith({ error, ...execution }: ExecutionDetails): string {
  return `${describeState(execution)}${error === null ? '' : `: ${error.detail ?? error.title ?? error.type}`}`;
}

/** Prints the result of following a request until it is active, and returns the exit code. */
function reportActive(details: ExecutionDetails, active: boolean, output: Output, now: Date): ExitCode {
  const { grants } = details;
  const until = grants.map(({ expires_at }) => expires_at ?? '').sort()[0];
  const left = describeTimeLeft(until, now);
  output.event(
    {
      execution_id: details.workflow_id,
      status: details.status,
      state: details.state,
      active,
      grants,
      error: details.error,
    },
    () =>
      active
        ? output.fields({ state: 'active', until, left, 'give back': `belay access return ${details.workflow_id}` })
        : output.fields({ state: 'ended', error: endedWith(details) }),
  );
  return active ? exitCodes.ok : exitCodes.endedWithoutAccess;
}

/**
 * Follows an execution and shows its events, until its access is active, or until it has ended and no access is left.
 * Resolves to `endedWithoutAccess` when no grant ever became active. Throws `aborted` at Ctrl-C; the request continues.
 */
export async function followExecution(
  client: BelayClient,
  id: string,
  output: Output,
  shell: Shell,
  { until, lastEventId }: FollowOptions,
): Promise<ExitCode> {
  const { signal } = shell;
  // On a terminal, the events of a short wait replace each other on one line; elsewhere each has its own line.
  using progress = createProgress(shell.stderr, output, shell.animated);
  const say = (text: string) => void ((until === 'active' || shell.animated) && progress.say(text));
  try {
    say('waiting for the first event');
    for await (const event of client.executions.watch(id, { signal, lastEventId })) {
      if (until === 'over' || output.json) {
        progress.clear();
        output.event(event, () => describeEvent(event, output));
      }
      say(event.message);
      if (!telling.test(event.event_type)) continue;
      const details = await client.executions.get(id, { signal });
      if (until === 'active' && isActive(details)) {
        progress.clear();
        return reportActive(details, true, output, shell.clock());
      }
      say(describeWait(details) ?? event.message);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new CliError('aborted', `stopped watching; the request continues: belay executions watch ${id}`);
  }
  progress.clear();
  const details = await client.executions.get(id, { signal });
  const had = details.grants.some((grant) => grant.granted_at !== null);
  if (until === 'active' && !had) return reportActive(details, false, output, shell.clock());
  output.note(
    printable(`${endedWith(details)}; ${had ? 'the access was granted and has ended' : 'no access was granted'}`),
  );
  return had ? exitCodes.ok : exitCodes.endedWithoutAccess;
}
