import type { Tone } from './parts/status.js';
import { readable } from './readable.js';
import type { Outputs } from './view.js';
import { listInWords } from './words.js';

export type Execution = Outputs['executions']['get'];

export interface State {
  tone: Tone;
  /** The whole of it in a sentence. */
  text: string;
  /** What that means, and what comes next. */
  next: string;
  /** Whether anything can still change. */
  over: boolean;
}

const reasons: Readonly<Record<string, string>> = {
  expired: 'its time was over',
  returned: 'it was given back',
  cancelled: 'the request was cancelled',
  terminated: 'the request was terminated',
  faulted: 'the workflow failed',
  failed: 'it could not be granted',
  revoked: 'the workflow took it away',
};

/** Where a request stands, as a person would say it. What is held comes before what the workflow does. */
export function stateOf(execution: Execution): State {
  const { grants, approvals } = execution;
  const owed = grants.some(({ state }) => state !== 'gone' && state !== 'failed');
  const over = execution.end_time !== null && !owed;
  const say = (tone: Tone, text: string, next = ''): State => ({ tone, text, next, over });

  switch (execution.state) {
    case 'active':
      return say('good', 'The access is active', 'It ends by itself, and can be given back before.');
    case 'granting':
      return say('warn', 'The access is being granted', 'The clock starts when it works.');
    case 'ending':
      return say('warn', 'The access is over and is being taken away', why(execution));
    case 'cancelled':
      return say('plain', 'The request was cancelled', held(execution));
    case 'terminated':
      return say('bad', 'The request was terminated', held(execution));
    case 'failed':
      return say('bad', 'The request failed', execution.error?.detail ?? execution.error?.title ?? held(execution));
    case 'denied': {
      const refused = approvals.find(({ status }) => status === 'denied');
      if (!refused) return say('bad', 'The approval expired', 'No approver decided in time. Nothing was granted.');
      const by = refused.decisions.filter(({ verdict }) => verdict === 'deny').map(({ approver }) => approver);
      return say('bad', 'The request was denied', `By ${listInWords(by)}. Nothing was granted.`);
    }
    case 'waiting_for_approval': {
      const open = approvals.find(({ status }) => status === 'open');
      const by = open === undefined ? '' : `By ${approversInWords(open)}. `;
      return say('warn', 'The request waits for approval', `${by}Nothing is granted until then.`);
    }
    case 'ended':
      return grants.length > 0
        ? say('plain', 'The access has ended', why(execution))
        : say('plain', 'The request is completed', 'Nothing was granted.');
    case 'running': {
      const waits = execution.waiting_for;
      const next = waits.length > 0 ? `It waits for ${readable(listInWords(waits))}.` : '';
      return say('plain', 'The request is under way', next);
    }
  }
}

/** Who may decide: `one person of the group approvers`. */
export function approversInWords({ approvers, count }: Execution['approvals'][number]): string {
  const { users, groups } = approvers;
  const who = listInWords([...users, ...groups.map((group) => `the group ${group}`)], 'or');
  if (count > 1) return `${count} people of ${who}`;
  return groups.length === 0 && users.length === 1 ? who : `one person of ${who}`;
}

function held({ grants }: Execution): string {
  return grants.length === 0 ? 'Nothing was granted.' : 'Whatever it held has been taken away.';
}

/** Time is nobody's doing: what it ends has no other reason. */
function why({ grants }: Execution): string {
  const reason = grants.map(({ ended_reason }) => ended_reason).find((each) => each !== null) ?? 'expired';
  return `Because ${reasons[reason] ?? reason}.`;
}
