import type { BulkDecided, BulkDecision } from '@belay/contract/approvals';
import { isNamed } from '@belay/contract/audience';
import { digestOf } from '@belay/contract/canonical';
import { AccessError, type ErrorCode, invalid } from '@belay/contract/errors';
import { limits } from '@belay/contract/limits';
import { isOutage, outageMessage } from '@belay/contract/outage';
import { requireFreshGroups, requireUser } from '../actor.js';
import type { ActorContext, ActorStore, UserActor } from '../context.js';
import { sharePatience } from '../share-patience.js';
import { type Decide, decideApproval, findApproval } from './decide.js';
import type { FoundApproval } from './find.js';
import type { ApprovalSubject } from './inbox.js';
import { mustDecideOnPage } from './on-page.js';

type Result = BulkDecided['results'][number];

/**
 * Decides several approvals one after the other, each as `decideApproval` does and in a transaction of its own: an error
 * of one does not affect the others. Throws `invalid`, before any decision, when they differ in role, systems, access or
 * duration, and `forbidden` for a role whose requests are decided in Belay one by one. Approvals that do not name the
 * caller are not compared, so that the errors reveal nothing about them.
 */
export async function decideApprovals(
  ctx: ActorContext,
  input: BulkDecision & Pick<Decide, 'via'>,
): Promise<BulkDecided> {
  const user = requireUser(ctx);
  requireFreshGroups(user);
  const { ids, request_digests: digests } = input;
  if (ids.length > limits.bulk) throw invalid('ids', `must name at most ${limits.bulk}`);
  if (new Set(ids).size !== ids.length) throw invalid('ids', 'must not name an approval twice');
  const named = await findNamed(ctx, user, ids);
  requireAlike(ctx, [...named.values()]);
  const results: Result[] = [];
  const inTurn = sharePatience(ctx);
  for (const id of ids) {
    // A digest covers what is granted, to whom and why: a decision counts only for what the approver was shown.
    const digest = named.get(id)?.requestDigest ?? '';
    const request_digest = digests.includes(digest) ? digest : 'not shown';
    results.push(await inTurn((one) => decideOne(one, { ...decisionOf(input), id, request_digest })));
  }
  const decided = results.filter(({ error }) => error === null).length;
  return { results, decided, rejected: results.length - decided };
}

function decisionOf({ verdict, comment, via }: BulkDecision & Pick<Decide, 'via'>) {
  return { verdict, via, ...(comment === undefined ? {} : { comment }) };
}

/**
 * Returns the approvals that name the caller; for the others, `decideApproval` throws as it does for a single decision.
 */
async function findNamed(
  ctx: ActorStore,
  user: UserActor,
  ids: readonly string[],
): Promise<Map<string, FoundApproval>> {
  const found = new Map<string, FoundApproval>();
  for (const id of ids) {
    const approval = await findApproval(ctx, user, id);
    if (approval && isNamed(user, approval.rule)) found.set(id, approval);
  }
  return found;
}

function requireAlike(ctx: ActorStore, found: readonly FoundApproval[]): void {
  const kinds = new Set(found.map(({ subject }) => kindOf(subject as ApprovalSubject)));
  if (kinds.size > 1) throw invalid('ids', 'must all have the same role, systems, access and duration');
  const strict = found.find(({ subject }) => mustDecideOnPage(ctx, (subject as ApprovalSubject).role));
  if (!strict) return;
  const { role } = strict.subject as ApprovalSubject;
  throw new AccessError('forbidden', `Requests for ${role} are decided one by one: open each request`);
}

/** Returns a digest of what all requests of a bulk decision must have in common: what is granted, but not to whom and why. */
function kindOf({ role, duration, grants }: ApprovalSubject): string {
  const held = grants.map(({ provider, access, residual, leavesBehind, expiry, pin }) =>
    digestOf({
      provider,
      access,
      residual,
      leavesBehind: leavesBehind ?? null,
      expiry: expiry ?? null,
      target: pin?.target ?? null,
    }),
  );
  return digestOf({ role, duration, held: [...new Set(held)].sort() });
}

async function decideOne(ctx: ActorContext, decision: Decide): Promise<Result> {
  try {
    const { status, execution_id } = await decideApproval(ctx, decision);
    return { id: decision.id, status, execution_id, error: null };
  } catch (error) {
    return { id: decision.id, status: null, execution_id: null, error: describe(ctx, decision.id, error) };
  }
}

/** Returns an error as a result, also an unexpected one, because earlier decisions stand. Its cause goes to the log only. */
function describe(ctx: ActorStore, id: string, error: unknown): { code: ErrorCode; message: string } {
  if (error instanceof AccessError) return { code: error.code, message: error.message };
  if (isOutage(error)) return { code: 'unavailable', message: outageMessage };
  ctx.log.error({ approval: id, error }, 'a decision of several failed');
  return { code: 'internal', message: 'The decision failed; nothing was recorded for this request' };
}
