import { executions } from '@belay/db';
import type { Evaluate } from '@belay/workflow';
import { and, gte, sql } from 'drizzle-orm';
import type { Catalog } from '../configuration/catalog.js';
import type { Store } from '../context.js';
import { elevationInputSchema } from '../plans/input.js';
import { describeRehearsal } from './compare-roles.js';
import { type Rehearsal, type RehearsedRequest, rehearse } from './rehearse.js';

/** A past request that would be decided differently. */
interface PastRequest {
  execution_id: string;
  requested_at: string;
  role: string;
  requester: string;
  before: string;
  after: string;
}

/** What a change of the configuration would have meant for the requests since a time. */
export interface Replay {
  /** How many requests were rehearsed; `more` is set when there are further ones. */
  count: number;
  more: boolean;
  rejected: number;
  /** How many would not be rejected and have another result, such as other approvals or another duration. */
  otherwise: number;
  /** How many of `otherwise` would need the approval of more people. */
  more_approvals: number;
  unknown: number;
  /** Some of those that would be decided differently, the latest first. */
  examples: PastRequest[];
}

const slice = 200;
const mostExamples = 50;

/**
 * Rehearses the requests since a time under two configurations, the latest first, at most `limit` of them, with the
 * groups that their requesters had then. Writes nothing, and assumes that every approver approves.
 */
export async function replayRequests(
  ctx: Pick<Store, 'db'> & { evaluate: Evaluate },
  { before, after, since, limit }: { before: Catalog; after: Catalog; since: Date; limit: number },
): Promise<Replay> {
  const replay: Replay = {
    count: 0,
    more: false,
    rejected: 0,
    otherwise: 0,
    more_approvals: 0,
    unknown: 0,
    examples: [],
  };
  for await (const row of readRequests(ctx, since)) {
    if (replay.count === limit) return { ...replay, more: true };
    replay.count += 1;
    const asked = toRequest(row);
    const [was, is] = asked
      ? await Promise.all([before, after].map(async (catalog) => rehearse(catalog, ctx.evaluate, asked)))
      : [];
    if (!was || !is || was.result === 'unknown' || is.result === 'unknown') {
      replay.unknown += 1;
      continue;
    }
    const [one, other] = [describeRehearsal(was), describeRehearsal(is)];
    if (one === other) continue;
    if (is.result === 'rejected') replay.rejected += 1;
    else replay.otherwise += 1;
    if (is.result !== 'rejected' && approvalsOf(is) > approvalsOf(was)) replay.more_approvals += 1;
    if (replay.examples.length === mostExamples || !asked) continue;
    replay.examples.push({
      execution_id: row.id,
      requested_at: row.createdAt.toISOString(),
      role: asked.terms.role,
      requester: asked.user.email,
      before: one,
      after: other,
    });
  }
  return replay;
}

function approvalsOf({ approvals }: Rehearsal): number {
  return approvals.reduce((sum, { count }) => sum + count, 0);
}

type Row = Pick<typeof executions.$inferSelect, 'id' | 'createdAt' | 'input' | 'workflow'>;

async function* readRequests({ db }: Pick<Store, 'db'>, since: Date): AsyncGenerator<Row> {
  let last: Row | undefined;
  for (;;) {
    const rows = await db
      .select({
        id: executions.id,
        createdAt: executions.createdAt,
        input: executions.input,
        workflow: executions.workflow,
      })
      .from(executions)
      .where(
        and(
          gte(executions.createdAt, since),
          last &&
            sql`(${executions.createdAt}, ${executions.id}) < (select created_at, id from executions where id = ${last.id}::uuid)`,
        ),
      )
      .orderBy(sql`${executions.createdAt} desc, ${executions.id} desc`)
      .limit(slice);
    yield* rows;
    last = rows.at(-1);
    if (rows.length < slice) return;
  }
}

/** Returns a stored request as one to rehearse; undefined when it names no role, or its input has another form. */
function toRequest({ input, workflow, createdAt }: Row): RehearsedRequest | undefined {
  const read = elevationInputSchema.safeParse(input);
  if (!read.success || read.data.dynamic) return undefined;
  const { role, providers, reason, duration, identities, user } = read.data;
  return {
    user: { kind: 'user', loginId: user.id, ...user },
    terms: { role, providers, reason, duration, identities, workflow },
    at: createdAt,
    timed: true,
    answers: {},
  };
}
