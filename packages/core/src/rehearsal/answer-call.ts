import { foldName } from '@belay/contract/address';
import { formatDuration } from '@belay/contract/durations';
import { AccessError } from '@belay/contract/errors';
import { callName, callWith } from '@belay/engine';
import type { Json, Outcome, Step } from '@belay/workflow';
import type { Catalog, CompiledRole, CompiledWorkflow } from '../configuration/catalog.js';
import { approveWith, grantWith } from '../configuration/function-checks.js';
import { requireDuration } from '../duration.js';
import { faultOf, NOT_APPROVED } from '../faults.js';
import type { ElevationInput } from '../plans/input.js';
import { admitRequest } from '../plans/plan.js';

/** The answers of people to approvals, and of systems to calls, by the name of the task. */
export type Answers = Readonly<Record<string, Answer>>;
type StageAnswer =
  | { verdict: 'approved' | 'denied' | 'expired' }
  /** Who approves, by address. */
  | { by: readonly string[] };
export type Answer =
  | StageAnswer
  /** One answer for each of several stages. */
  | { stages: readonly StageAnswer[] }
  /** What any other call returns. */
  | { returns: Json };

/** An approval that was requested: from whom, and how it was answered. */
export interface RehearsedApproval {
  task: string;
  users: string[];
  groups: string[];
  count: number;
  /** Counted from 1; absent when there is only one stage. */
  stage?: number;
  answer: 'approved' | 'denied' | 'expired';
  /** Why it was not approved, when that does not follow from the verdict of the case. */
  because?: string;
}

/** The results of a rehearsal so far. */
export interface Played {
  approvals: RehearsedApproval[];
  grants: { providers: string[]; duration: string }[];
  /** When each approval was given, and when the access ends, in milliseconds. */
  decidedAt: number[];
  /** The people who approved so far, where the case names them; `distinct`: their stage wants people who approve no other step. */
  approvers: { address: string; distinct: boolean }[];
  endsAt: number | undefined;
}

/** Thrown for a question that neither the configuration nor the case decides. */
export class NotKnown extends Error {}

interface Stage {
  catalog: Catalog;
  role: CompiledRole;
  input: ElevationInput;
  workflow: CompiledWorkflow;
  answers: Answers;
  played: Played;
  /** Milliseconds. */
  now: number;
  /** How long people have to answer when a stage does not say it, in milliseconds. */
  patience: number;
}

/** An open step. */
export interface Opened {
  /** Returns when the step is answered, in milliseconds; other steps can change this time. */
  at(): number;
  /** Returns the answer at that time. */
  answer(now: number): Outcome;
}

/** Opens a call and prepares its answer. Throws `NotKnown` when neither a rule nor the case gives the answer. */
export function openCall(step: Step, stage: Stage): Opened {
  const name = callName(step.request);
  const play = plays[name] ?? openOther;
  return play(step, stage);
}

const plays: Readonly<Record<string, (step: Step, stage: Stage) => Opened>> = {
  'access.validate': (_step, stage) => atOnce(stage, () => validate(stage)),
  'access.approve': approve,
  'access.grant': (step, stage) => atOnce(stage, (now) => grant(step, stage, now)),
  'access.hold': (_step, { played, now }) => ({
    at: () => Math.max(now, played.endsAt ?? now),
    answer: () => done({ ended: true, reason: 'expired' }),
  }),
  'access.revoke': (_step, stage) =>
    atOnce(stage, (now) => {
      stage.played.endsAt = now;
      return done({ revoked_at: new Date(now).toISOString() });
    }),
  'access.notify': (_step, stage) => atOnce(stage, (now) => done({ delivered_at: new Date(now).toISOString() })),
};

const atOnce = ({ now }: Stage, answer: Opened['answer']): Opened => ({ at: () => now, answer });
const done = (value: Json): Outcome => ({ ok: true, value });

/** Returns the outcome of a check. As in the engine, an error of the check becomes the fault that the workflow sees. */
function checked(check: () => Outcome): Outcome {
  try {
    return check();
  } catch (error) {
    if (error instanceof NotKnown) throw error;
    return { ok: false, fault: faultOf(error) };
  }
}

function validate({ catalog, input, workflow }: Stage): Outcome {
  return checked(() => {
    admitRequest(catalog, { input, workflow: workflow.name });
    requireUnread(workflow, 'grants', 'whom the access would be granted to');
    return done({ ...input, grants: [] } as Json);
  });
}

function openOther(step: Step, stage: Stage): Opened {
  const task = taskOf(step);
  const answer = stage.answers[task];
  if (answer && 'returns' in answer) return atOnce(stage, () => done(answer.returns));
  const call = callName(step.request);
  throw new NotKnown(`the task "${task}" calls ${call}: say what it returns (answers: { ${task}: { returns: … } })`);
}

function approve(step: Step, stage: Stage): Opened {
  const { now, patience, played } = stage;
  const refused = checked(() => {
    admitRequest(stage.catalog, { input: stage.input, workflow: stage.workflow.name });
    return done(null);
  });
  if (!refused.ok) return atOnce(stage, () => refused);
  const settings = approveWith.safeParse(callWith(step.request) ?? {});
  if (!settings.success) {
    const error = new AccessError('invalid', 'access.approve must name at least one approver');
    return atOnce(stage, () => ({ ok: false, fault: faultOf(error) }));
  }
  const { stages } = settings.data;
  const task = taskOf(step);
  const answers = answersOf(task, stages.length, stage.answers[task]);
  const begun = played.approvers.length;
  const decisions: { approver: string; verdict: 'approve'; comment: null; at: string; stage: number }[] = [];
  for (const [index, asked] of stages.entries()) {
    const { users, groups } = asked.approvers;
    const rule = { task, users, groups, count: asked.count, ...(stages.length > 1 ? { stage: index + 1 } : {}) };
    const distinct = asked.distinct === true;
    const inStages = played.approvers.slice(begun).map(({ address }) => address);
    const { answer, by, told } = decide({ ...rule, distinct, inStages }, answers[index], stage);
    for (const address of answer === 'approved' ? by : []) played.approvers.push({ address, distinct });
    played.approvals.push({ ...rule, ...told, answer });
    const at = new Date(now).toISOString();
    decisions.push(
      ...by.map((approver) => ({ approver, verdict: 'approve' as const, comment: null, at, stage: index + 1 })),
    );
    if (answer === 'approved') continue;
    // A stage that is not approved ends the step: later stages are not opened.
    const timeout = asked.timeout === undefined ? patience : requireDuration(asked.timeout, 'timeout');
    const after = answer === 'expired' ? timeout : 0;
    return { at: () => now + after, answer: () => done({ approved: false, decisions }) };
  }
  return {
    at: () => now,
    answer: (time) => {
      played.decidedAt.push(time);
      return done({ approved: true, decisions });
    },
  };
}

/** Returns the answer to each stage. A single verdict counts for every stage; `by` is for an approval with one stage. */
function answersOf(task: string, stages: number, answer: Answer | undefined): readonly (StageAnswer | undefined)[] {
  if (answer && 'stages' in answer) {
    if (answer.stages.length > stages) throw new NotKnown(`the task "${task}" has no stage ${stages + 1}`);
    return answer.stages;
  }
  if (answer && 'returns' in answer)
    throw new NotKnown(`the task "${task}" is an approval: answer it with a verdict, or by whom`);
  if (answer && 'by' in answer && stages > 1)
    throw new NotKnown(
      `the task "${task}" has ${stages} stages: answer each (answers: { ${task}: { stages: [{ by: […] }, …] } })`,
    );
  return Array.from({ length: stages }, () => answer);
}

interface Decided {
  answer: RehearsedApproval['answer'];
  by: readonly string[];
  told: { because?: string };
}

/**
 * Returns how an approval is decided. It expires when too few people other than the requester may approve, or when the
 * people whom the case names are too few or may not approve.
 */
function decide(
  {
    task,
    users,
    groups,
    count,
    distinct,
    inStages,
  }: Omit<RehearsedApproval, 'answer'> & { distinct: boolean; inStages: readonly string[] },
  answer: StageAnswer = { verdict: 'approved' },
  stage: Stage,
): Decided {
  const requester = foldName(stage.input.user.email);
  const others = new Set(users.map(foldName).filter((user) => user !== requester));
  const expired = (because: string): Decided => ({ answer: 'expired', by: [], told: { because } });
  if (groups.length === 0 && others.size < count) return expired('too few people other than the requester may approve');
  if ('verdict' in answer) {
    if (answer.verdict === 'approved')
      requireUnread(stage.workflow, 'decisions', `who decides: name them (answers: { ${task}: { by: […] } })`);
    return { answer: answer.verdict, by: [], told: {} };
  }
  const by = [...new Set(answer.by.map(foldName))];
  if (by.includes(requester)) return expired('the requester may not decide');
  const stranger = groups.length === 0 ? by.find((one) => !others.has(one)) : undefined;
  if (stranger !== undefined) return expired(`${stranger} may not decide`);
  const again = stage.played.approvers.find(
    ({ address, distinct: alone }) => by.includes(address) && (distinct || alone || inStages.includes(address)),
  );
  if (again) return expired(`${again.address} has approved another step`);
  if (by.length < count) return expired(`${by.length} of ${count} approvals`);
  return { answer: 'approved', by, told: {} };
}

function grant(step: Step, { catalog, role, input, workflow, played }: Stage, now: number): Outcome {
  return checked(() => {
    const settings = grantWith.safeParse(callWith(step.request) ?? {});
    if (!settings.success)
      throw new AccessError('invalid', 'access.grant: "duration" is not a valid ISO 8601 duration');
    const asked = requireDuration(input.duration, 'duration');
    const less = requireDuration(settings.data.duration ?? input.duration, 'duration');
    const duration = formatDuration(Math.min(asked, less));
    admitRequest(catalog, { input: { ...input, duration }, workflow: workflow.name });
    if (played.approvals.some(({ answer }) => answer !== 'approved')) {
      const detail = 'The request was not approved';
      return { ok: false, fault: { type: NOT_APPROVED, status: 403, title: 'Not approved', detail } };
    }
    if (played.decidedAt.some((decidedAt) => now - decidedAt > role.approvalLifetime))
      throw new NotKnown('an approval has expired before the grant, and would be requested again');
    requireUnread(workflow, 'grants', 'which identities the access is granted to');
    played.grants.push({ providers: input.providers, duration });
    played.endsAt = now + Math.min(asked, less);
    const expires_at = new Date(played.endsAt).toISOString();
    return done({ granted_at: new Date(now).toISOString(), expires_at, grants: [] });
  });
}

/** Throws `NotKnown` when the workflow reads something that only a provider or a person knows. */
function requireUnread({ definition }: CompiledWorkflow, name: string, what: string): void {
  if (reads(definition, name)) throw new NotKnown(`the workflow reads ${what}`);
}

/** Returns whether any text of a workflow may read a field of this name; true in doubt. */
export function reads({ workflow }: CompiledWorkflow['definition'], name: string): boolean {
  return new RegExp(`[.$"\\[]${name}\\b`).test(JSON.stringify(workflow));
}

/** Returns the name of a step's task. */
function taskOf({ key }: Step): string {
  return (key.split('#')[0] ?? key).split('/').pop() ?? key;
}
