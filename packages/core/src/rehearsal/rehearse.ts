import type { ElevationRequest } from '@belay/contract/elevation';
import { AccessError } from '@belay/contract/errors';
import { isFinal } from '@belay/engine';
import { begin, type Env, type Evaluate, type Json, resolve, type Step, type Transition } from '@belay/workflow';
import { can } from '../can.js';
import type { Catalog, CompiledRole, CompiledWorkflow } from '../configuration/catalog.js';
import type { UserActor } from '../context.js';
import { composeRequest } from '../elevation/compose-request.js';
import { NOT_APPROVED } from '../faults.js';
import { passingGroups, unmetCondition } from '../people/admission.js';
import { admitRequest } from '../plans/plan.js';
import { timing } from '../timing.js';
import {
  type Answers,
  NotKnown,
  type Opened,
  openCall,
  type Played,
  type RehearsedApproval,
  reads,
} from './answer-call.js';

/** A person as their provider describes them. */
export type Described = Pick<UserActor, 'email' | 'groups' | 'provider'> & { organizations?: string[] };

/** A request to rehearse: who requests what, when, and how people and systems answer. */
export interface RehearsedRequest {
  /** The groups have their names in Belay, not those of the provider. */
  user: UserActor;
  terms: Omit<ElevationRequest, 'role' | 'authenticator'> & { role: string };
  at: Date;
  /** Whether `at` is part of the case. Otherwise, the result of a workflow that reads the time is `unknown`. */
  timed: boolean;
  answers: Answers;
}

/** What a request leads to; `unknown` is never a permission. */
export interface Rehearsal {
  result: 'granted' | 'denied' | 'rejected' | 'failed' | 'ended' | 'unknown';
  /** Why, in words; empty for access that was granted, unless the workflow faults after it. */
  because: string;
  approvals: RehearsedApproval[];
  /** Each step that grants: at which providers, and for how long (ISO 8601). */
  grants: { providers: string[]; duration: string }[];
}

/** Stands for the ids that a real request would have. */
const anyId = '00000000-0000-4000-8000-000000000000';
/** The number of steps after which a workflow counts as endless. */
const mostSteps = 1_000;
/** The same limit for tasks: tasks that wait for nothing make no step, and could otherwise block this process. */
const mostTasks = 10_000;
/** Milliseconds of processor time for all expressions of a case. Each expression has a limit too, but a task may catch its fault. */
const mostSpent = 5_000;
/** How long approvers have to decide when a workflow does not set a time. */
const patience = timing.approval;

/**
 * Returns what would become of a request, by a configuration alone: no database, no provider, no clock. The server's own
 * code checks the request and runs its workflow; only what people, systems and the clock do comes from the case. What
 * neither the case nor a rule decides is `unknown`.
 */
export async function rehearse(catalog: Catalog, evaluate: Evaluate, asked: RehearsedRequest): Promise<Rehearsal> {
  const played: Played = { approvals: [], grants: [], decidedAt: [], approvers: [], endsAt: undefined };
  const told = (result: Rehearsal['result'], because: string): Rehearsal => {
    const { approvals, grants } = played;
    return { result, because, approvals, grants };
  };
  try {
    const { role, input, workflow } = await compose(catalog, asked);
    admitRequest(catalog, { input, workflow: workflow.name });
    requireTimes(workflow, asked.timed);
    const end = await play({ catalog, evaluate, asked, played, role, input, workflow });
    return told(...conclude(end, played));
  } catch (error) {
    if (error instanceof NotKnown) return told('unknown', error.message);
    return told('rejected', reasonOf(error));
  }
}

/** Returns the text of a rejection; throws every other error. */
function reasonOf(error: unknown): string {
  if (!(error instanceof AccessError)) throw error;
  const issues = (error.issues ?? []).map(({ path, message }) => `${path} ${message}`.trim());
  return [error.message, ...issues].join(': ');
}

/** Returns what would become of a person's request, including their sign-in. */
export async function rehearseFor(
  catalog: Catalog,
  evaluate: Evaluate,
  { person, ...asked }: Omit<RehearsedRequest, 'user'> & { person: Described },
): Promise<Rehearsal> {
  try {
    return await rehearse(catalog, evaluate, { ...asked, user: signIn(catalog, person) });
  } catch (error) {
    return { result: 'rejected', because: reasonOf(error), approvals: [], grants: [] };
  }
}

/**
 * Returns a person as they are after signing in. Throws `forbidden` with the condition of `sign_in` that they do not
 * meet.
 */
function signIn(catalog: Catalog, person: Described): UserActor {
  const condition = unmetCondition(catalog, person);
  if (condition !== undefined) throw new AccessError('forbidden', `This person may not sign in: ${condition}`);
  return stranger(person.email, passingGroups(catalog, person), person.provider);
}

/** Returns a person with only an address and groups, which have their names in Belay. */
export function stranger(email: string, groups: string[], provider: string): UserActor {
  return { kind: 'user', id: anyId, loginId: anyId, email, name: email, subject: email, provider, groups };
}

async function compose(catalog: Catalog, { user, terms, at }: RehearsedRequest) {
  const role = catalog.roles.get(terms.role);
  if (!role || !can(user, 'request', { role })) throw new AccessError('not_found', `Role ${terms.role} does not exist`);
  const { authenticators } = role.definition;
  if (authenticators && !authenticators.includes(user.provider)) {
    throw new AccessError('forbidden', `Sign in with ${authenticators.join(' or ')} to request this role`);
  }
  requireOwn(role, terms.identities ?? [], user);
  return { role, ...(await composeRequest(catalog, { user, role, terms, requestedAt: at })) };
}

/**
 * Throws `NotKnown` for identities other than the requester's address, in a role without delegates: only the provider knows
 * whether they belong to the requester.
 */
function requireOwn(role: CompiledRole, identities: readonly string[], user: UserActor): void {
  if (identities.length === 0 || role.definition.permissions?.delegates !== undefined) return;
  if (identities.every((identity) => identity === user.email)) return;
  throw new NotKnown('whether the identities are those of the requester: only their provider knows');
}

/** Throws `NotKnown` when the workflow reads a time and the case does not say when the request is made. */
function requireTimes({ definition }: CompiledWorkflow, timed: boolean): void {
  const times = ['startedAt', 'requested_at', 'granted_at', 'expires_at', 'revoked_at', 'delivered_at'];
  if (!timed && times.some((time) => reads(definition, time)))
    throw new NotKnown('the workflow reads the time: say at which time the request is made');
}

interface Playing {
  catalog: Catalog;
  evaluate: Evaluate;
  asked: RehearsedRequest;
  played: Played;
  role: CompiledRole;
  input: Parameters<typeof admitRequest>[1]['input'];
  workflow: CompiledWorkflow;
}

/** Runs the workflow to its end. The clock advances to the time at which each step is answered. */
async function play(playing: Playing): Promise<Transition> {
  const { catalog, evaluate, asked, played, role, input, workflow } = playing;
  let now = asked.at.getTime();
  let tasks = 0;
  let spent = 0;
  const spend = (milliseconds: number) => {
    spent += milliseconds;
  };
  const pause = async () => {
    tasks += 1;
    if (tasks > mostTasks) throw new NotKnown(`the workflow does not end within ${mostTasks} tasks`);
    if (spent > mostSpent)
      throw new NotKnown(`the expressions of the workflow take more than ${mostSpent / 1_000} seconds`);
    return false;
  };
  const env = (): Env => ({
    now: new Date(now).toISOString(),
    startedAt: asked.at.toISOString(),
    executionId: anyId,
    evaluate,
    pause,
    spend,
  });
  const open = new Map<string, Opened>();
  const stage = { catalog, role, input, workflow, answers: asked.answers, played, patience };
  let last = await begin(workflow.workflow, input as Json, env());
  for (let count = 0; count < mostSteps; count++) {
    for (const key of last.close) open.delete(key);
    for (const step of last.open) if (!isFinal(last.status)) open.set(step.key, openStep(step, { ...stage, now }));
    if (isFinal(last.status)) return last;
    // The sort is stable: of two steps that are answered at the same time, the one that was opened first comes first.
    const [first] = [...open].filter(([, { at }]) => at() < never).sort(([, one], [, other]) => one.at() - other.at());
    if (first === undefined) throw new NotKnown(`the workflow waits for an event at ${[...open.keys()].join(', ')}`);
    const [key, step] = first;
    now = Math.max(now, step.at());
    open.delete(key);
    last = await resolve(workflow.workflow, last.state, key, step.answer(now), env());
  }
  throw new NotKnown(`the workflow does not end within ${mostSteps} steps`);
}

/** When an event arrives: a case has no events. */
const never = Number.POSITIVE_INFINITY;

function openStep(step: Step, stage: Parameters<typeof openCall>[1]): Opened {
  if (step.kind === 'call') return openCall(step, stage);
  const at = step.kind === 'event' ? never : Date.parse(step.dueAt ?? '');
  return { at: () => at, answer: () => ({ ok: true, value: null }) };
}

/** Returns what the end of a workflow means for the requester. */
function conclude(end: Transition, { approvals, grants }: Played): [Rehearsal['result'], string] {
  const refused = approvals.find(({ answer }) => answer !== 'approved');
  const fault = end.fault && [end.fault.title, end.fault.detail].filter(Boolean).join(': ');
  // Access was granted, even when a later fault ends it.
  if (grants.length > 0) return ['granted', fault === undefined ? '' : `the workflow faults after it: ${fault}`];
  if (refused || end.fault?.type === NOT_APPROVED)
    return ['denied', refused ? `${refused.task}: ${refused.because ?? refused.answer}` : (fault ?? '')];
  if (end.status === 'completed') return ['ended', 'the workflow ends without access'];
  return ['failed', fault ?? end.status];
}
