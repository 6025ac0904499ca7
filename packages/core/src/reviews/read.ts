import { isNamed } from '@belay/contract/audience';
import { AccessError } from '@belay/contract/errors';
import type { Review, ReviewVerdict } from '@belay/contract/reviews';
import { type Database, entitlements, executions, grants, reviews, sqlText, type Transaction, users } from '@belay/db';
import { type SQL, sql } from 'drizzle-orm';
import { isLiveIn, overAtIn } from '../access/wanted.js';
import { isExcluded, isRequester } from '../approvals/exclusion.js';
import type { Store, UserActor } from '../context.js';
import { causeOf } from '../people/joins.js';
import { foldName } from '../people/names.js';
import { oversightOf, seesEveryRequest } from '../people/oversight.js';
import { listSelves, type Self } from '../people/selves.js';
import { familyOf } from '../request-family.js';

interface Named {
  email: string;
  name: string;
}

/** A review with what it is about: all requests under it, what they were granted, and to whom. */
export interface FoundReview {
  id: string;
  executionId: string;
  rule: { users: string[]; groups: string[] };
  openedAt: string;
  dueAt: string;
  overdue: boolean;
  closedAt: string | null;
  closedBy: string | null;
  closer: Named | null;
  verdict: ReviewVerdict | null;
  note: string | null;
  role: string;
  providers: string[];
  reason: string;
  ownerId: string;
  owner: Named;
  /** The requester's address at the time of the request. */
  requestedAs: string;
  activeFrom: string | null;
  activeUntil: string | null;
  /** Whether access is held, or about to be. */
  live: boolean;
  extensions: number;
  /** The accounts to which access was given, as their systems call them. */
  accounts: string[];
  /** The names of the people to whom these accounts belong (`namesOfAccount`). */
  elevated: string[];
  /** The identities to which access was given; empty when the requester requested it for themselves. */
  given: { provider: string; identity: string }[];
}

/** The caller, with all of their identities. */
export interface Reviewer {
  user: UserActor;
  selves: Self[];
}

/** Returns the caller with all of their identities, and with the addresses that these had when a review was opened. */
export async function readReviewer(
  db: Database | Transaction,
  user: UserActor,
  found?: Pick<FoundReview, 'openedAt' | 'ownerId'>,
): Promise<Reviewer> {
  const about = found && { at: new Date(found.openedAt), ownerId: found.ownerId };
  return { user, selves: [user, ...(await listSelves(db, user.id, about))] };
}

/** Returns reviews. `which` and `order` are expressions on the table of reviews, named `r`. */
export async function readReviews(
  db: Database | Transaction,
  { which, order, limit }: { which: SQL; order: SQL; limit: number },
): Promise<FoundReview[]> {
  return [
    ...(await db.execute<FoundReview & Record<string, unknown>>(sql`
    select r.id, r.execution_id as "executionId", r.rule, r.opened_at as "openedAt", r.due_at as "dueAt", r.closed_at as "closedAt",
      r.closed_by as "closedBy", r.verdict, r.note, r.closed_at is null and r.due_at < app_now() as overdue,
      e.input ->> 'role' as role, e.input -> 'providers' as providers, e.input ->> 'reason' as reason, e.owner_id as "ownerId",
      e.input -> 'user' ->> 'email' as "requestedAs", jsonb_build_object('email', o.email, 'name', o.name) as owner,
      case when c.id is not null then jsonb_build_object('email', c.email, 'name', c.name) end as closer, used.*
    from (select * from ${reviews} r where ${which} order by ${order} limit ${limit}) r
    join ${executions} e on e.id = r.execution_id
    join ${users} o on o.id = e.owner_id
    left join ${users} c on c.id = r.closed_by
    cross join lateral (
      select min(g.activated_at) as "activeFrom",
        max(least(g.ended_at, ${overAtIn('g')})) filter (where g.activated_at is not null) as "activeUntil",
        coalesce(bool_or(${isLiveIn('g')}), false) as live,
        greatest(0, count(distinct g.execution_id) filter (where g.activated_at is not null) - 1)::int as extensions,
        coalesce(jsonb_agg(distinct given.name) filter (where not given.folded and given.name is not null), '[]') as accounts,
        coalesce(jsonb_agg(distinct given.name) filter (where given.folded), '[]') as elevated,
        coalesce(jsonb_agg(distinct jsonb_build_object('provider', held.provider, 'identity', g.identity))
          filter (where held.id is not null and jsonb_array_length(e.input -> 'identities') > 0), '[]') as given
      from ${grants} g
      left join ${entitlements} held on held.id = g.entitlement_id
      left join lateral (select g.identity as name, false as folded union select jsonb_array_elements_text(g.known_as), true) as given
        on true
      where g.execution_id in ${familyOf(sqlText`r.execution_id`)}) used
    order by ${order}`)),
  ];
}

/** Returns whether the caller sees a review: as a reviewer, closer or requester, or because they see every request. */
export function seesReview(ctx: Store, { user, selves }: Reviewer, found: FoundReview): boolean {
  return (
    seesEveryRequest(ctx, user) || isNamed(user, found.rule) || found.closedBy === user.id || isRequester(selves, found)
  );
}

/**
 * Returns why the caller cannot close a review now; undefined when they can. The requester and the person who was given the access never
 * can, by any of their identities (decision 0043); an auditor only sees it.
 */
export function whyNot(ctx: Store, { user, selves }: Reviewer, found: FoundReview): AccessError | undefined {
  const own = selves.filter((self) => isRequester([self], found));
  if (own.length > 0) {
    return new AccessError('forbidden', 'You cannot review your own use of a role', causeOf(user.id, own));
  }
  const elevated = selves.filter((self) => isExcluded([self], { excluded: namesUnderReview(found) }));
  if (elevated.length > 0) return ownAccess(causeOf(user.id, elevated));
  if (!isNamed(user, found.rule) && oversightOf(ctx, user) !== 'administrator')
    return new AccessError('forbidden', 'Only its reviewers and administrators can close a review');
  if (found.closedAt !== null) return new AccessError('conflict', 'The review has already been closed');
  if (found.live) return new AccessError('conflict', 'The access is active; close its review when it has ended');
  return undefined;
}

/** Returns the names that may not review a use: those of the requester and of the people to whom access was given. */
export function namesUnderReview({ requestedAs, accounts, elevated }: FoundReview): string[] {
  return [...[requestedAs, ...accounts].map(foldName), ...elevated];
}

/** Returns the error of a person who was given the access under review. */
export function ownAccess(because: { cause?: Error } = {}): AccessError {
  return new AccessError('forbidden', 'You cannot review access that was granted to you', because);
}

/** Returns a review as the interface shows it to the caller. */
export function describeReview(ctx: Store, reviewer: Reviewer, found: FoundReview): Review {
  const { role, providers, reason, verdict, note, extensions, overdue } = found;
  return {
    id: found.id,
    execution_id: found.executionId,
    status: found.closedAt === null ? 'open' : 'closed',
    overdue,
    role,
    providers,
    reason,
    requester: found.owner,
    reviewers: { users: found.rule.users, groups: found.rule.groups },
    active_from: timeOf(found.activeFrom),
    active_until: timeOf(found.activeUntil),
    extensions,
    opened_at: new Date(found.openedAt).toISOString(),
    due_at: new Date(found.dueAt).toISOString(),
    verdict,
    note,
    closed_by: found.closer,
    closed_at: timeOf(found.closedAt),
    may_close: whyNot(ctx, reviewer, found) === undefined,
  };
}

function timeOf(text: string | null): string | null {
  return text === null ? null : new Date(text).toISOString();
}
