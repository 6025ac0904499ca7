import { digestOf } from '@belay/contract/canonical';
import type { ElevationRequest } from '@belay/contract/elevation';
import { AccessError } from '@belay/contract/errors';
import {
  execute,
  executeFor,
  idempotencyKeys,
  inGroups,
  type SqlText,
  sqlText,
  type Transaction,
  users,
} from '@belay/db';
import { type Started as StartedExecution, type Starting, startingExecutions } from '@belay/engine';
import { and, eq, gt, sql } from 'drizzle-orm';
import { openingQuestions, type Question } from '../approvals/write-questions.js';
import type { ActorContext, Store, UserActor } from '../context.js';
import { type Queued, queueingMessages } from '../messages/queue.js';
import type { PresentedSession } from '../sessions/verify.js';
import { type Admission, type RequestLimits, requireAdmitted } from './admission.js';

/** The optional fields of every request. */
export interface RequestTerms extends Omit<ElevationRequest, 'role'> {
  /** A session that proves with whom the caller has signed in; checked whenever it is given. */
  session?: PresentedSession | undefined;
  idempotencyKey?: string | undefined;
  /** Called in the transaction that stores the execution, with the owner's row locked; no part of the request. */
  alongside?: ((tx: Transaction, executionId: string) => Promise<void>) | undefined;
}

type Started = StartedExecution & Admission;

/** An execution to start, with the approvals and the messages of its first turn. */
export interface Request {
  starting: Starting;
  limits: RequestLimits;
  questions: Question[];
  messages: Queued[];
}

/** Stores a request: in one statement, or in a transaction where there is an idempotency key or `alongside`. */
export async function storeRequest(
  ctx: ActorContext,
  user: UserActor,
  terms: RequestTerms,
  request: Request,
): Promise<{ earlier?: string; started?: Started }> {
  const { starting, limits: most } = request;
  const { alongside } = terms;
  if (terms.idempotencyKey === undefined && alongside === undefined) {
    return { started: requireAdmitted(await startBeside(ctx.db, { ctx, request }), most) };
  }
  return ctx.db.transaction(async (tx) => {
    // The same lock as in `stopUser` and `admit_request`: each waits for the others, and no foreign key check waits.
    await tx.select({ id: users.id }).from(users).where(eq(users.id, user.id)).for('no key update');
    const earlier = await claimIdempotencyKey(ctx, tx, user, starting.id, terms);
    if (earlier) return { earlier };
    const [started] = await execute<Started>(tx, writingRequests(ctx, [request]));
    const required = requireAdmitted(started, most);
    await alongside?.(tx, starting.id);
    return { started: required };
  });
}

type One = { ctx: Store; request: Request };

/** Stores a request together with simultaneous requests of other people, in one statement. */
const startBeside = inGroups(
  async (group: readonly [One, ...One[]], hurried): Promise<readonly (Started | undefined)[]> => {
    const [{ ctx }] = group;
    const requests = group.map(({ request }) => request);
    const rows = await executeFor<Started>(ctx.db, writingRequests(ctx, requests), hurried);
    return requests.map(({ starting }) => rows.find((row) => row.id === starting.id));
  },
  ({ request }) => [request.starting.ownerId],
);

function writingRequests(ctx: Store, requests: readonly Request[]): SqlText {
  const questions = requests.flatMap((request) => request.questions);
  const messages = requests.flatMap((request) => request.messages);
  return startingExecutions(
    ctx,
    requests.map(({ starting }) => starting),
    {
      // Locks the owner's row before it counts, so that simultaneous requests are counted one after the other.
      asked: sqlText`admit_request(given.owner_id, (given.asking ->> 'login')::uuid)`,
      when: sqlText`asked.live and asked.open < (given.asking ->> 'open')::int and asked.recent < (given.asking ->> 'recent')::int`,
      after: [
        ...(questions.length > 0 ? [openingQuestions(questions, sqlText`started`)] : []),
        ...(messages.length > 0 ? [sqlText`queued as (${queueingMessages(messages)})`] : []),
      ],
    },
  );
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
export async function findEarlier(
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
