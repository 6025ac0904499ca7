import { execute, inGroups, sqlText } from '@belay/db';
import { callName, callWith, decideFirstTurn, type Serve, type Starting } from '@belay/engine';
import type { CompiledWorkflow } from '../configuration/catalog.js';
import type { ActorContext, Store, UserActor } from '../context.js';
import { openingFirst } from '../functions/approve.js';
import { validated } from '../functions/validate.js';
import type { ElevationInput } from '../plans/input.js';
import { besideExecution, inputNow } from '../plans/owner.js';
import type { Plan } from '../plans/plan.js';
import type { Admission } from './admission.js';
import type { Request } from './store-request.js';

/** What was read about a requester before the request is planned. */
export interface Seen extends Admission {
  /** The time of the database when this was read: when the request is made. */
  now: Date;
  /** What `besideExecution` returned. */
  beside: string | null;
}

/** Returns whether the first turn of a workflow may end with a request for approval: then the request takes it. */
export function mayAskAtOnce({ definition }: CompiledWorkflow): boolean {
  const known = asks.get(definition) ?? JSON.stringify(definition.workflow).includes('"access.approve"');
  asks.set(definition, known);
  return known;
}

const asks = new WeakMap<object, boolean>();

type Reader = { ctx: Store; user: UserActor; input: ElevationInput };

/** Reads whether a person may start another request, before it costs calls of providers. */
export async function readSeen(ctx: Store, user: UserActor, input: ElevationInput): Promise<Seen> {
  const { now, ...row } = await readRow(ctx.db, { ctx, user, input });
  return { ...row, now: new Date(now) };
}

type Row = Admission & { id: string; now: string; beside: string | null };

const readRow = inGroups(
  async (group: readonly [Reader, ...Reader[]]): Promise<Row[]> => {
    const given = group.map(({ user, input }) => ({ id: user.id, login: user.loginId, input: { user: input.user } }));
    const input = sqlText`given.input`;
    const rows = await execute<Row>(
      group[0].ctx.db,
      sqlText`
      select given.id, exists (select from logins where logins.id = given.login and expires_at > app_now()) as live,
        open_requests(given.id) as open, recent_requests(given.id) as recent, app_now() as now,
        ${besideExecution({ id: sqlText`null::uuid`, ownerId: sqlText`given.id`, input })} as beside
      from jsonb_to_recordset(${JSON.stringify(given)}::text::jsonb) as given (id uuid, login uuid, input jsonb)`,
    );
    return group.map(({ user }) => {
      const row = rows.find(({ id }) => id === user.id);
      if (!row) throw new Error('A requester was not read');
      return row;
    });
  },
  ({ user }) => [user.id],
);

/**
 * Returns how calls of `access.validate` are served with the plan of the request, which was made with the same configuration and the
 * same data of the requester; nothing for a plan that was made with others.
 */
export function servingPlan(
  ctx: Store,
  { input, plan }: { input: ElevationInput; plan: Plan | null },
  beside: unknown,
): Serve | undefined {
  const now = inputNow(ctx, input, beside);
  if (!plan || JSON.stringify(now) !== JSON.stringify(input)) return undefined;
  return ({ request }) => (callName(request) === 'access.validate' ? validated(now, plan) : null);
}

/** What the first turn of a request comes to: a request for approval, which its start writes. */
export interface Begun extends Pick<Request, 'questions' | 'messages'> {
  first: NonNullable<Starting['first']>;
  entries: Starting['entries'];
  key: string;
}

/**
 * Takes the first turn of a request before its start, when it ends with a request for approval. Returns null when it does not: then a
 * worker takes the turn.
 */
export async function beginHere(
  ctx: ActorContext,
  starting: Pick<Starting, 'id' | 'workflow' | 'ownerId'> & { input: ElevationInput },
  { plan, seen }: { plan: Plan | null; seen: Seen | null },
): Promise<Begun | null> {
  if (!seen || !plan) return null;
  const { id: executionId, ownerId } = starting;
  // Planning took a few seconds at most since then: otherwise there would be no plan.
  const startedAt = seen.now;
  const requested = startedAt.toISOString();
  const input = { ...starting.input, requested_at: requested };
  const serve = servingPlan(ctx, { input, plan }, JSON.parse(seen.beside ?? 'null'));
  if (!serve) return null;
  const move = await decideFirstTurn(ctx, { ...starting, input }, { requested, beside: seen.beside }, serve);
  const [step] = move?.open ?? [];
  if (!move || !step || callName(step.request) !== 'access.approve') return null;
  const call = { executionId, key: step.key, ownerId, with: callWith(step.request), input };
  const { question, message, waitingFor, entry } = openingFirst(ctx, call, plan, startedAt);
  return {
    first: { move, startedAt, waitingFor, dueAt: question.expiresAt },
    key: step.key,
    entries: [...move.entries, entry],
    questions: [question],
    messages: message ? [message] : [],
  };
}
