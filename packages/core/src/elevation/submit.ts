import type { Elevation } from '@belay/contract/elevation';
import { AccessError } from '@belay/contract/errors';
import { limits } from '@belay/contract/limits';
import { causesOf } from '@belay/contract/outage';
import { cutText } from '@belay/contract/text';
import {
  claiming,
  forgetDefinition,
  keepWorkflow,
  linkExecution,
  performStep,
  type Starting,
  startedSnapshot,
  storeDefinition,
  TURN,
  turnJob,
} from '@belay/engine';
import { Retryable, Terminal } from '@belay/providers';
import type { Catalog, CompiledRole, CompiledWorkflow } from '../configuration/catalog.js';
import type { ActorContext, UserActor } from '../context.js';
import { countLookup } from '../count-lookup.js';
import { deliverMessages } from '../messages/deliver.js';
import { noteOutage } from '../outage.js';
import { foldName } from '../people/names.js';
import type { ElevationInput } from '../plans/input.js';
import { type Plan, type PlannedGrant, planElevation } from '../plans/plan.js';
import { endAfter } from '../share-patience.js';
import { requireText } from '../text.js';
import { untilStopped } from '../until-stopped.js';
import { type Counting, countFirst } from './admission.js';
import { checkAuthenticator } from './authenticators.js';
import { composeRequest } from './compose-request.js';
import { beginHere, mayAskAtOnce, readSeen, type Seen, servingPlan } from './first-turn.js';
import { findEarlier, type RequestTerms, storeRequest } from './store-request.js';

interface Submission {
  catalog: Catalog;
  user: UserActor;
  /** The role to grant: one of the catalog's, or one that was built for this request. */
  role: CompiledRole;
  terms: RequestTerms;
  dynamic?: ElevationInput['dynamic'];
  /** The execution whose access the request extends, and a check of what it would grant, which throws to reject the request. */
  extends?: { id: string; check(planned: readonly PlannedGrant[]): void };
  /** The complete request of the caller: what an idempotency key stands for. */
  request: RequestTerms & { extends?: string };
}

/**
 * Submits a request; every request passes here. Checks the names, the reason, the duration, the caller's sign-in and
 * the workflow's own schema before anything is stored; commits the execution, which a worker starts, and returns its
 * id. Throws `invalid` with the field, `not_found` and `forbidden` for what the caller may not request, `unavailable`
 * for a provider that is not ready, `conflict` for access that the provider would not grant or an idempotency key of
 * another request, `unauthenticated` when the login has ended, and `too_many_requests` for too many open requests.
 */
export async function submitRequest(ctx: ActorContext, submission: Submission): Promise<Elevation> {
  const { catalog, user, role, terms, dynamic, request } = submission;
  const { input, workflow } = await composeRequest(catalog, {
    user,
    role,
    terms,
    requestedAt: ctx.clock(),
    ...(dynamic === undefined ? {} : { dynamic }),
  });
  for (const id of input.providers) {
    if (!ctx.catalog.client(id)?.authorizer) throw new AccessError('unavailable', `The provider "${id}" is not ready`);
  }
  if (request.idempotencyKey !== undefined)
    requireText(request.idempotencyKey, 'Idempotency-Key', limits.idempotencyKey);
  await checkAuthenticator(ctx, user, role, terms);
  const checked = await check(ctx, submission, { input, workflow }).catch(async (error: unknown) => {
    // The response to an earlier attempt may have been lost. Its execution is returned also while a provider is silent.
    const earlier = await findEarlier(ctx, ctx.db, user, request);
    if (earlier === null) throw error;
    return earlier;
  });
  if (typeof checked === 'string') return elevationOf(checked);
  const { planned, seen, counting } = checked;
  const stored = input.identities.length === 0 ? input : { ...input, elevated: namesOfElevated(input, planned) };
  const plan = 'digest' in planned ? planned : null;
  const extendsId = submission.extends?.id;
  const starting = { catalog, workflow, input: stored, request, extendsId, plan, seen, counting };
  return start(ctx, user, starting).finally(counting.end);
}

/** Checks what can be rejected at once: first the limits of the person, before any call of a provider. */
async function check(
  ctx: ActorContext,
  { user, catalog, extends: extending }: Submission,
  { input, workflow }: { input: ElevationInput; workflow: CompiledWorkflow },
): Promise<{ planned: Plan | NoPlan; seen: Seen | null; counting: Counting }> {
  const asksAtOnce = extending === undefined && mayAskAtOnce(workflow);
  const reading = { read: () => readSeen(ctx, user, input), always: asksAtOnce };
  const { seen, counting } = await countFirst(ctx, user, catalog.limits, reading);
  try {
    const planned = await refuseEarly(ctx, { input, workflow: workflow.name }, extending?.check);
    return { planned, seen: asksAtOnce ? seen : null, counting };
  } catch (error) {
    // A provider may have been called, so the rejected request counts.
    await countLookup(ctx, user, 'request', catalog.limits.requestsPerHour).catch((cause: unknown) =>
      noteOutage(ctx, cause),
    );
    counting.end();
    throw error;
  }
}

/** What is known of a request while a provider does not respond. */
type NoPlan = Pick<Plan, 'grants' | 'knownAs'>;

function namesOfElevated({ identities }: Pick<ElevationInput, 'identities'>, { grants, knownAs }: NoPlan): string[] {
  const given = [...identities, ...grants.map(({ identity }) => identity)];
  return [...new Set([...given.map(foldName), ...knownAs.flat()])];
}

/**
 * Rejects what cannot be granted now, and returns what would be granted. When a provider does not respond, returns an
 * empty plan, and the execution waits for the provider. Throws `unavailable` instead with `check`, and for a request
 * that names identities: without their names, `stopUser` would not find it, and a stopped person would get the access.
 */
async function refuseEarly(
  ctx: ActorContext,
  request: { input: ElevationInput; workflow: string },
  check?: (planned: readonly PlannedGrant[]) => void,
): Promise<Plan | NoPlan> {
  const named = request.input.identities.length > 0;
  try {
    const signal = endAfter(named ? ctx.timing.namesCheck : ctx.timing.earlyCheck);
    const plan = await untilStopped(planElevation(ctx, request, signal), signal);
    check?.(plan.grants);
    await untilStopped(refuseObstacles(ctx, plan.grants, signal), signal);
    return plan;
  } catch (error) {
    if (error instanceof AccessError) throw error;
    if (error instanceof Terminal) throw new AccessError('unavailable', error.message, { cause: error });
    if (!(error instanceof Retryable) && !(error instanceof Error && error.name === 'TimeoutError')) throw error;
    if (check || named) {
      const slow = named && !(error instanceof Retryable);
      const message = slow
        ? `Looking up the identities took longer than ${ctx.timing.namesCheck / 1_000} seconds; request access for fewer people at once, or try again`
        : 'A provider did not respond; try again shortly';
      throw new AccessError('unavailable', message, { cause: error });
    }
    ctx.log.warn(
      { error, providers: request.input.providers },
      'a provider did not respond to a new request; the request waits for it',
    );
    return { grants: [], knownAs: [] };
  }
}

/**
 * Throws `conflict`, which clients do not repeat, for access that could be approved but not granted, because Belay's
 * connection to the provider cannot grant it.
 */
async function refuseObstacles(
  ctx: ActorContext,
  planned: readonly PlannedGrant[],
  signal: AbortSignal,
): Promise<void> {
  for (const id of new Set(planned.map(({ provider }) => provider))) {
    const accesses = planned.filter(({ provider }) => provider === id).map(({ access }) => access);
    const [obstacle] = (await ctx.catalog.client(id)?.obstacles?.(accesses, signal)) ?? [];
    if (obstacle === undefined) continue;
    const { message, cure } = obstacle;
    // Only in the log: the message names roles and users of the system, which a requester need not know.
    ctx.log.warn({ provider: id, message, cure }, 'a request was rejected, because it would not be granted');
    throw new AccessError(
      'conflict',
      `"${id}" would not grant this access; the log and "belay doctor" tell an operator why`,
    );
  }
}

interface Start {
  catalog: Catalog;
  workflow: CompiledWorkflow;
  input: ElevationInput;
  request: RequestTerms;
  extendsId: string | undefined;
  /** What would be granted; null while a provider does not respond. */
  plan: Plan | null;
  /** What was read about the requester before; null when the first turn is not taken here. */
  seen: Seen | null;
  counting: Counting;
}

async function start(ctx: ActorContext, user: UserActor, plan: Start): Promise<Elevation> {
  const { catalog, workflow, input } = plan;
  const id = ctx.newId();
  keepWorkflow(workflow.digest, workflow.workflow);
  await storeDefinition(ctx.db, { digest: workflow.digest, document: workflow.definition.workflow });
  // With a worker's place in this process, the turn belongs to this process from the start; otherwise the row and a
  // job lead to a worker.
  const place = ctx.waker.reserve?.({ queue: 'executions' });
  const claimId = ctx.newId();
  const begun = await beginHere(ctx, { id, workflow, ownerId: user.id, input }, plan);
  const starting: Starting = {
    id,
    workflow,
    catalogVersion: catalog.version,
    ownerId: user.id,
    asking: { login: user.loginId, open: catalog.limits.openRequests, recent: catalog.limits.requestsPerHour },
    input,
    extendsId: plan.extendsId,
    lease: place ? ctx.timing.turnLease : 0,
    claimId,
    first: begun?.first,
    entries: [
      // The complete request is the execution's input.
      {
        type: 'elevation.requested',
        message: `${user.email} requests ${wantedBy(input)}${input.break_glass ? ', a role for emergencies,' : ''} at ${input.providers.join(', ')} for ${input.duration}: ${input.reason}`,
        actor: ctx.actor,
        userId: user.id,
        provider: input.provider,
        executionId: id,
      },
      ...(begun?.entries ?? []),
    ],
  };
  const storing = claiming(ctx, place ? [claimId] : [], () =>
    storeRequest(ctx, user, plan.request, {
      starting,
      limits: catalog.limits,
      questions: begun?.questions ?? [],
      messages: begun?.messages ?? [],
    }),
  );
  const { earlier, started } = await storing.catch((error: unknown) => {
    place?.release();
    forgetDefinition(ctx.db, workflow.digest);
    throw isSecondExtension(error) ? new AccessError('conflict', 'The request is being extended already') : error;
  });
  ctx.crashpoint('started');
  if (started) plan.counting.stored(started);
  if (!started) place?.release();
  else if (begun) {
    ctx.waker.wake([{ queue: 'executions', executionId: id, key: begun.key, dueAt: begun.first.dueAt }]);
    // Without a worker in this process, the sweeper of another one delivers the message.
    if (begun.messages.length > 0) place?.run(async () => void (await deliverMessages(ctx, { executionId: id })));
    else place?.release();
  } else if (place) {
    const snapshot = startedSnapshot(starting, started);
    const serve = servingPlan(
      ctx,
      { input: { ...input, requested_at: started.requested }, plan: plan.plan },
      snapshot.beside,
    );
    place.run(() => performStep(ctx, { executionId: id, key: TURN }, { leased: snapshot, claimId, serve }));
  } else ctx.waker.wake([turnJob(id)]);
  const executionId = earlier ?? id;
  linkExecution(executionId);
  return elevationOf(executionId);
}

function elevationOf(executionId: string): Elevation {
  return { status: 'pending', output: { workflow_id: executionId, execution_id: executionId } };
}

/** Returns whether the database rejected an extension because another one was stored at the same time. */
function isSecondExtension(error: unknown): boolean {
  return causesOf(error).some(
    (one) => 'constraint_name' in one && one.constraint_name === 'executions_have_one_extension_at_a_time',
  );
}

/** Returns the requested access, as the ledger's message names it. */
function wantedBy({ role, dynamic }: ElevationInput): string {
  if (!dynamic) return role;
  const names = [...dynamic.groups, ...dynamic.permissions, ...dynamic.resources].join(', ');
  return `${role} (${names.length > 500 ? `${cutText(names, 500)}…` : names})`;
}
