import { canonicalJson } from '@belay/contract/canonical';
import { formatDuration } from '@belay/contract/durations';
import type { Elevation } from '@belay/contract/elevation';
import { AccessError, invalid, notFound } from '@belay/contract/errors';
import { entitlements, execute, executions, grants, idempotencyKeys, runs, sqlText, type Transaction } from '@belay/db';
import { and, eq, isNull, sql } from 'drizzle-orm';
import { isLive, isLiveOf } from '../access/wanted.js';
import { requireFreshGroups, requireUser } from '../actor.js';
import { can } from '../can.js';
import type { Catalog, CompiledRole } from '../configuration/catalog.js';
import type { ActorContext, ActorStore, UserActor } from '../context.js';
import { requireDuration } from '../duration.js';
import { findExecution } from '../find-execution.js';
import { readNow } from '../now.js';
import { composeRole } from '../plans/dynamic-role.js';
import type { ElevationInput } from '../plans/input.js';
import type { PlannedGrant } from '../plans/plan.js';
import { familyOf } from '../request-family.js';
import { submitRequest } from './submit.js';

export interface Extension {
  id: string;
  /** ISO 8601; counts from the moment when the extension is active. Default: the duration of the request. */
  duration?: string | undefined;
  /** Default: the reason of the request. */
  reason?: string | undefined;
  idempotencyKey?: string | undefined;
}

/**
 * Requests the access that an execution of the caller's holds for longer: a new request on the same terms, through the
 * same workflow, whose grants join the held ones, so that the later end counts. Throws `forbidden` for another person's
 * execution, `conflict` for one that holds no access or is being extended, or whose role gives other access than is
 * held, `not_found` for an unknown execution or a role that the caller may no longer request, `invalid` for a duration
 * that is too long or ends no later, and the errors of `submitRequest`.
 */
export async function extendElevation(ctx: ActorContext, extension: Extension): Promise<Elevation> {
  const user = requireUser(ctx);
  requireFreshGroups(user);
  const { execution } = await findExecution(ctx, user, extension.id);
  if (execution.ownerId !== user.id) throw new AccessError('forbidden', 'The execution belongs to another person');
  const input = execution.input as ElevationInput;
  const held = await readActive(ctx, execution.id);
  const duration = extension.duration ?? input.duration;
  await requireLater(ctx, held, duration);
  await refuseSecond(ctx, user, extension);
  const catalog = ctx.catalog.current();
  const { providers, identities, dynamic } = input;
  const terms = {
    providers,
    identities,
    workflow: execution.workflow,
    duration,
    reason: extension.reason ?? input.reason,
  };
  const { idempotencyKey } = extension;
  return submitRequest(ctx, {
    catalog,
    user,
    role: roleOf(catalog, user, input),
    terms,
    ...(dynamic === undefined ? {} : { dynamic }),
    request: {
      ...terms,
      extends: execution.id,
      idempotencyKey,
      alongside: (tx, made) => refuseGivenBack(tx, { made, extended: execution.id }),
    },
    extends: { id: execution.id, check: (planned) => requireSame(held, planned) },
  });
}

type Held = Awaited<ReturnType<typeof readActive>>;

/** Returns the access of an execution. Throws `conflict` unless it holds access, all of it active. */
async function readActive(ctx: ActorStore, executionId: string) {
  const rows = await ctx.db
    .select({
      provider: entitlements.provider,
      identity: grants.identity,
      access: grants.access,
      activatedAt: grants.activatedAt,
      expiresAt: grants.expiresAt,
    })
    .from(grants)
    .innerJoin(entitlements, eq(entitlements.id, grants.entitlementId))
    .where(and(eq(grants.executionId, executionId), isLive));
  const held = rows.flatMap(({ activatedAt, expiresAt, ...row }) =>
    activatedAt && expiresAt ? [{ ...row, expiresAt }] : [],
  );
  if (held.length === 0 || held.length < rows.length) {
    throw new AccessError('conflict', 'Only active access can be extended; request the role again instead');
  }
  return held;
}

async function requireLater(ctx: ActorStore, held: Held, duration: string): Promise<void> {
  const milliseconds = requireDuration(duration, 'duration');
  const now = await readNow(ctx.db);
  const left = Math.max(...held.map(({ expiresAt }) => expiresAt.getTime())) - now.getTime();
  if (milliseconds > left) return;
  throw invalid(
    'duration',
    `counts from now, and the access is active for another ${formatDuration(left)}; name a longer one`,
  );
}

/**
 * Throws `conflict` while another extension has not ended: the caller extends that one instead. The database also rejects
 * two at the same time. An extension with the same idempotency key passes, because a repeated request returns it.
 */
async function refuseSecond(ctx: ActorStore, user: UserActor, { id, idempotencyKey = '' }: Extension): Promise<void> {
  const { userId, key, executionId } = idempotencyKeys;
  const [other] = await ctx.db
    .select({ id: executions.id, key })
    .from(executions)
    .leftJoin(idempotencyKeys, and(eq(executionId, executions.id), eq(userId, user.id), eq(key, idempotencyKey)))
    .where(and(eq(executions.extendsId, id), isNull(executions.endedAt), sql`${executions.extendsId} is not null`));
  if (other && other.key === null) throw new AccessError('conflict', `The request is extended already, by ${other.id}`);
}

/**
 * Throws `conflict` when the access was given back since it was read, by the end of its last run or in another way. The
 * caller holds the lock of the person's row, under which runs end.
 */
async function refuseGivenBack(tx: Transaction, { made, extended }: { made: string; extended: string }): Promise<void> {
  const family = familyOf(sqlText`${made}::uuid`);
  const [row] = await execute<{ over: boolean }>(
    tx,
    sqlText`
    select (exists (select from ${runs} r where r.execution_id in ${family} and r.requested)
        and not exists (select from ${runs} r where r.execution_id in ${family} and r.ended_at is null))
      or not exists (select from ${grants} where ${isLiveOf(sqlText`${extended}::uuid`)}) as over`,
  );
  if (row?.over) throw new AccessError('conflict', 'The access has been given back; request the role again instead');
}

function roleOf(catalog: Catalog, user: UserActor, input: ElevationInput): CompiledRole {
  if (input.dynamic) return composeRole(catalog, user, { providers: input.providers, asked: input.dynamic });
  const role = catalog.roles.get(input.role);
  if (!role || !can(user, 'request', { role })) throw notFound(`Role ${input.role}`);
  return role;
}

/** Throws `conflict` when the request would grant other access than what is held: that is a new request, not a longer one. */
function requireSame(held: Held, planned: readonly PlannedGrant[]): void {
  const nameOf = ({ provider, identity, access }: { provider: string; identity: string; access: object }) =>
    canonicalJson([provider, identity, access]);
  const names = new Set(held.map(nameOf));
  if (names.size === new Set(planned.map(nameOf)).size && planned.every((grant) => names.has(nameOf(grant)))) return;
  throw new AccessError('conflict', 'The role now gives different access from what you hold; request it again instead');
}
