import { texts } from '../texts.js';
import type { Tone } from './parts/status.js';
import { readable } from './readable.js';
import type { Outputs } from './view.js';
import { listInWords } from './words.js';

export type Execution = Outputs['executions']['get'];

export interface State {
  tone: Tone;
  /** The state in one sentence. */
  text: string;
  /** What the state means and what comes next. */
  next: string;
  /** Whether nothing can change any more. */
  over: boolean;
}

const reasons: Readonly<Record<string, string>> = {
  expired: texts.executionState.expired,
  returned: texts.executionState.givenBack,
  cancelled: texts.executionState.cancelled,
  terminated: texts.executionState.terminated,
  faulted: texts.executionState.workflowFailed,
  failed: texts.executionState.grantFailed,
  revoked: texts.executionState.revoked,
  deprovisioned: texts.executionState.deprovisioned,
};

/** Describes the state of a request. The state of its access takes precedence over the status of its workflow. */
export function stateOf(execution: Execution): State {
  const { grants, approvals } = execution;
  const owed = grants.some(({ state }) => state !== 'gone' && state !== 'failed');
  const over = execution.end_time !== null && !owed;
  const say = (tone: Tone, text: string, next = ''): State => ({ tone, text, next, over });

  switch (execution.state) {
    case 'active':
      return say('good', texts.executionState.theAccessIsActive, texts.executionState.activeNext);
    case 'granting':
      return say('warn', texts.executionState.theAccessIsBeingGranted, texts.executionState.grantingNext);
    case 'ending':
      return say('warn', texts.executionState.theAccessIsBeingRevoked, why(execution));
    case 'cancelled':
      return say('plain', texts.executionState.theRequestWasCancelled, held(execution));
    case 'terminated':
      return say('bad', texts.executionState.theRequestWasTerminated, held(execution));
    case 'failed':
      return say(
        'bad',
        texts.executionState.theRequestFailed,
        execution.error?.detail ?? execution.error?.title ?? held(execution),
      );
    case 'denied': {
      const refused = approvals.find(({ status }) => status === 'denied');
      if (!refused)
        return say('bad', texts.executionState.theApprovalExpired, texts.executionState.noApproverDecidedInTime);
      const by = refused.decisions.filter(({ verdict }) => verdict === 'deny').map(({ approver }) => approver);
      return say('bad', texts.executionState.theRequestWasDenied, texts.executionState.deniedBy(listInWords(by)));
    }
    case 'waiting_for_approval': {
      const open = approvals.find(({ status }) => status === 'open');
      const by = open === undefined ? '' : texts.executionState.approvers(approversInWords(open));
      return say('warn', texts.executionState.theRequestWaitsForApproval, texts.executionState.approvalNext(by));
    }
    case 'ended':
      return grants.length > 0
        ? say('plain', texts.executionState.theAccessHasEnded, why(execution))
        : say('plain', texts.executionState.theRequestIsCompleted, texts.executionState.nothingWasGranted);
    case 'running': {
      const waits = execution.waiting_for;
      const next = waits.length > 0 ? texts.executionState.waitingFor(readable(listInWords(waits))) : '';
      return say('plain', texts.executionState.theRequestIsRunning, next);
    }
  }
}

/** Describes who can decide: `one person of the group approvers`. */
export function approversInWords(approval: Execution['approvals'][number]): string {
  const { stage, stages } = approval;
  const deciders = decidersOf(approval);
  return stages === 1 ? deciders : texts.executionState.ofStage(deciders, stage, stages);
}

function decidersOf({ approvers, count }: Execution['approvals'][number]): string {
  const { users, groups } = approvers;
  const who = listInWords([...users, ...groups.map((group) => texts.executionState.theGroup(group))], 'or');
  if (count > 1) return texts.executionState.peopleOf(count, who);
  return groups.length === 0 && users.length === 1 ? who : texts.executionState.onePersonOf(who);
}

function held({ grants }: Execution): string {
  return grants.length === 0 ? texts.executionState.nothingWasGranted : texts.executionState.allRevoked;
}

/** Returns why access ended, in words. */
export function endReasonInWords(reason: string): string {
  return reasons[reason] ?? reason;
}

/** Describes why the access ended, and for a revocation who revoked it and for which reason; an expiry has no recorded reason. */
function why({ grants, history }: Execution): string {
  const revoked = history.findLast(({ event_type }) => event_type === 'access.revoked');
  if (revoked !== undefined) return readable(revoked.message);
  const reason = grants.map(({ ended_reason }) => ended_reason).find((each) => each !== null) ?? 'expired';
  return texts.executionState.reason(endReasonInWords(reason));
}
