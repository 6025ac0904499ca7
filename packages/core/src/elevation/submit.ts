import { digestOf } from '@belay/contract/canonical';
import type { Elevation, ElevationRequest } from '@belay/contract/elevation';
import { AccessError } from '@belay/contract/errors';
import { limits } from '@belay/contract/limits';
import { causesOf } from '@belay/contract/outage';
import { cutText } from '@belay/contract/text';
import { execute, executeFor, idempotencyKeys, inGroups, sqlText, type Transaction, users } from '@belay/db';
import {
  claiming,
  forgetDefinition,
  keepWorkflow,
  linkExecution,
  performStep,
  type Started as StartedExecution,
  type Starting,
  startedSnapshot,
  startingExecutions,
  storeDefinition,
  TURN,
  turnJob,
} from '@belay/engine';
import { Retryable, Terminal } from '@belay/providers';
import { and, eq, gt, sql } from 'drizzle-orm';
import type { Catalog, CompiledRole, CompiledWorkflow } from '../configuration/catalog.js';
import type { ActorContext, Store, UserActor } from '../context.js';
import { foldName } from '../people/names.js';
import type { ElevationInput } from '../plans/input.js';
import { type Plan, type PlannedGrant, planElevation } from '../plans/plan.js';
import type { PresentedSession } from '../sessions/verify.js';
import { endAfter } from '../share-patience.js';
import { requireText } from '../text.js';
import { untilStopped } from '../until-stopped.js';
import { checkAuthenticator } from './authenticators.js';
import { composeRequest } from './compose-request.js';

/** The optional fields of every request. */
export interface RequestTerms extends Omit<ElevationRequest, 'role'> {
  /** A session that proves with whom the caller has signed in; checked whenever it is given. */
  session?: PresentedSession | undefined;
  idempotencyKey?: string | undefined;
  /** Called in the transaction that stores the execution, with the owner's row locked; no part of the request. */
  alongside?: ((tx: Transaction, executionId: string) => Promise<void>) | undefined;
}

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
  const planned = await refuseEarly(ctx, { input, workflow: workflow.name }, submission.extends?.check).catch(
    async (error: unknown) => {
      // The response to an earlier attempt may have been lost. Its execution is returned also while a provider is silent.
      const earlier = await findEarlier(ctx, ctx.db, user, request);
      if (earlier === null) throw error;
      return earlier;
    },
  );
  if (typeof planned === 'string') return elevationOf(planned);
  const stored = input.identities.length === 0 ? input : { ...input, elevated: namesOfElevated(input, planned) };
  return start(ctx, user, { catalog, workflow, input: stored, request, extendsId: submission.extends?.id });
}

function namesOfElevated(
  { identities }: Pick<ElevationInput, 'identities'>,
  { grants, knownAs }: Pick<Plan, 'grants' | 'knownAs'>,
): string[] {
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
): Promise<Pick<Plan, 'grants' | 'knownAs'>> {
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
  const starting: Starting = {
    id,
    workflow,
    catalogVersion: catalog.version,
    ownerId: user.id,
    asking: { login: user.loginId, limit: catalog.limits.openRequests },
    input,
    extendsId: plan.extendsId,
    lease: place ? ctx.timing.turnLease : 0,
    claimId,
    // The complete request is the execution's input.
    entry: {
      type: 'elevation.requested',
      message: `${user.email} requests ${wantedBy(input)}${input.break_glass ? ', a role for emergencies,' : ''} at ${input.providers.join(', ')} for ${input.duration}: ${input.reason}`,
      actor: ctx.actor,
      userId: user.id,
      provider: input.provider,
      executionId: id,
    },
  };
  const storing = claiming(ctx, place ? [claimId] : [], () => store(ctx, user, plan, starting));
  const { earlier, started } = await storing.catch((error: unknown) => {
    place?.release();
    forgetDefinition(ctx.db, workflow.digest);
    throw isSecondExtension(error) ? new AccessError('conflict', 'The request is being extended already') : error;
  });
  ctx.crashpoint('started');
  if (!started) place?.release();
  else if (place) {
    const snapshot = startedSnapshot(starting, started);
    place.run(() => performStep(ctx, { executionId: id, key: TURN }, { leased: snapshot, claimId }));
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

/** The result: the login had ended, too many requests were open, or the execution is started. */
interface Started extends StartedExecution {
  live: boolean;
  open: number;
}

/** Stores a request: in one statement, or in a transaction where there is an idempotency key or `alongside`. */
async function store(
  ctx: ActorContext,
  user: UserActor,
  plan: Start,
  starting: Starting,
): Promise<{ earlier?: string; started?: Started }> {
  const limit = plan.catalog.limits.openRequests;
  const { alongside } = plan.request;
  if (plan.request.idempotencyKey === undefined && alongside === undefined) {
    return { started: requireStarted(await startBeside(ctx.db, { ctx, starting }), limit) };
  }
  return ctx.db.transaction(async (tx) => {
    // The same lock as in `stopUser` and `admit_request`: each waits for the others, and no foreign key check waits.
    await tx.select({ id: users.id }).from(users).where(eq(users.id, user.id)).for('no key update');
    const earlier = await claimIdempotencyKey(ctx, tx, user, starting.id, plan.request);
    if (earlier) return { earlier };
    const [started] = await execute<Started>(tx, startingExecutions(ctx, [starting], admission));
    const required = requireStarted(started, limit);
    await alongside?.(tx, starting.id);
    return { started: required };
  });
}

// Locks the owner's row before it counts, so that simultaneous requests are counted one after the other.
const admission = {
  asked: sqlText`admit_request(given.owner_id, (given.asking ->> 'login')::uuid)`,
  when: sqlText`asked.live and asked.open < (given.asking ->> 'limit')::int`,
};

interface One {
  ctx: Store;
  starting: Starting;
}

/** Stores a request together with simultaneous requests of other people, in one statement. */
const startBeside = inGroups(
  async (group: readonly [One, ...One[]], hurried): Promise<readonly (Started | undefined)[]> => {
    const [{ ctx }] = group;
    const startings = group.map(({ starting }) => starting);
    const rows = await executeFor<Started>(ctx.db, startingExecutions(ctx, startings, admission), hurried);
    return startings.map(({ id }) => rows.find((row) => row.id === id));
  },
  ({ starting }) => [starting.ownerId],
);

/** Returns the started execution, or throws the reason why the request was not started; nothing was written then. */
function requireStarted(started: Started | undefined, limit: number): Started {
  if (!started?.live) throw new AccessError('unauthenticated', 'Your session has ended; sign in again');
  const { open } = started;
  if (open < limit) return started;
  throw new AccessError(
    'too_many_requests',
    `You have ${open} open requests, which is the limit of ${limit} for one person; cancel one, give access back, or wait until one ends`,
    { retryAfter: 60 },
  );
}

/** Returns the requested access, as the ledger's message names it. */
function wantedBy({ role, dynamic }: ElevationInput): string {
  if (!dynamic) return role;
  const names = [...dynamic.groups, ...dynamic.permissions, ...dynamic.resources].join(', ');
  return `${role} (${names.length > 500 ? `${cutText(names, 500)}…` : names})`;
}

/**
 * Checks an idempotency key: the same key and body return the same execution for 24 hours; the same key with another
 * body is a conflict (docs/interface.md, section 16, rule 16). Returns the earlier execution, or null when the key
 * belongs to this request now.
 */
async function claimIdempotencyKey(
  ctx: ActorContext,
  tx: Transaction,
  user: UserActor,
  executionId: string,
  request: RequestTerms,
): Promise<string | null> {
  const { idempotencyKey: key } = request;
  if (key === undefined) return null;
  const requestDigest = requestDigestOf(request);
  const lifetime = `${ctx.timing.idempotency} milliseconds`;
  const [claimed] = await tx
    .insert(idempotencyKeys)
    .values({ userId: user.id, key, requestDigest, executionId })
    .onConflictDoUpdate({
      target: [idempotencyKeys.userId, idempotencyKeys.key],
      set: { requestDigest, executionId, createdAt: sql`app_now()` },
      setWhere: sql`${idempotencyKeys.createdAt} <= app_now() - ${lifetime}::interval`,
    })
    .returning({ executionId: idempotencyKeys.executionId });
  return claimed ? null : findEarlier(ctx, tx, user, request);
}

function requestDigestOf({ idempotencyKey: _key, session: _proof, alongside: _beside, ...body }: RequestTerms): string {
  // A session proves the request and is not part of it: it may have been refreshed by the next attempt.
  return digestOf(body);
}

/**
 * Returns the execution that the same request with the same idempotency key started, or null. Throws `conflict` when the key was used
 * for another request.
 */
async function findEarlier(
  ctx: ActorContext,
  db: Pick<Transaction, 'select'>,
  user: UserActor,
  request: RequestTerms,
): Promise<string | null> {
  const { idempotencyKey: key } = request;
  if (key === undefined) return null;
  const lifetime = `${ctx.timing.idempotency} milliseconds`;
  const [earlier] = await db
    .select()
    .from(idempotencyKeys)
    .where(
      and(
        eq(idempotencyKeys.userId, user.id),
        eq(idempotencyKeys.key, key),
        gt(idempotencyKeys.createdAt, sql`app_now() - ${lifetime}::interval`),
      ),
    );
  if (earlier && earlier.requestDigest !== requestDigestOf(request)) {
    throw new AccessError('conflict', 'The Idempotency-Key was used for another request');
  }
  return earlier?.executionId ?? null;
}
