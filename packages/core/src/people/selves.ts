import {
  accountAttachments,
  attachments,
  type Database,
  execute,
  type SqlText,
  separations,
  sqlText,
  type Transaction,
  userIdentities,
} from '@belay/db';
import type { Person } from '../context.js';

/** How long after one account has lost an address another one that gets it still counts as the same person. */
const reuse = sqlText`interval '90 days'`;

/** An identity of a person, under one of the addresses that it has or had. */
export interface Self extends Person {
  /** Set when only a shared address, or a shared user of a chat, says that this is the same person. */
  joined?: true;
}

/**
 * Returns the answer to *may be the same person?*: every identity that the person behind a user may have: those of this user; those of users with the
 * same subject of one issuer; and those of users who have or had an address of these at overlapping times, or within 90 days of
 * each other.
 *
 * The safe side is yes: this question only ever denies. It decides who does not count as another person (the requester, the person to be
 * elevated, a second vote), and gives nothing. What was known stays known, so a changed address changes nothing. It does not
 * go on from address to address: a shared mailbox, or a person who takes the addresses of two approvers in turn, does not make
 * these two one person. So an identity of another user has here only the address that is shared. Two users that were separated are
 * not joined by what was known then (`separatePeople`).
 *
 * Addresses that an identity had count if it still had them 90 days before `at`, the time of what is decided on; by default now. They do
 * not count where they are those of `ownerId`, from whom the user was separated.
 */
export async function listSelves(
  db: Database | Transaction,
  userId: string,
  { at, ownerId }: { at?: Date | undefined; ownerId?: string | undefined } = {},
): Promise<Self[]> {
  const since = sqlText`coalesce(${at?.toISOString() ?? null}::timestamptz, app_now()) - ${reuse}`;
  const root = sqlText`select ${userId}::uuid, ${userId}::uuid`;
  // A text of its own for each: with one text for both, PostgreSQL would plan the whole statement anew at each call.
  const known = ownerId === undefined ? sqlText`` : sqlText`and not ${knownOf(ownerId)}`;
  const rows = await execute<Row>(
    db,
    sqlText`
    with recursive ${relatedTo(root)}
    select i.user_id as id, i.provider, i.subject, i.name, i.groups, i.email, false as joined
      from own join ${userIdentities} i on i.user_id = own.id
    union select i.user_id, i.provider, i.subject, i.name, i.groups, held.name, false
      from held join ${userIdentities} i on i.user_id = held.user_id
        and (held.subject is null or (i.provider = held.provider and i.subject = held.subject))
      where held.kind = 'address' and held.name is distinct from i.email_folded and (held.until is null or held.until >= ${since})
        ${known}
    union select i.user_id, i.provider, i.subject, i.name, i.groups, case when near.kind = 'address' then near.name else i.email end, true
      from near join ${userIdentities} i on i.user_id = near.id`,
  );
  return rows.map(({ joined, ...self }) => ({ ...self, ...(joined ? { joined } : {}) }));
}

interface Row extends Person {
  joined: boolean;
}

/** Returns the condition that a name of `held` is known of a user too, from whom its user was separated. */
function knownOf(ownerId: string): SqlText {
  return sqlText`exists (select from ${separations} s join ${attachments} b on b.name = held.name and b.kind = held.kind
    and b.user_id = ${ownerId}::uuid and s.one = least(held.user_id, b.user_id)
    and s.other = greatest(held.user_id, b.user_id) and s.through >= greatest(held.id, b.id))`;
}

/**
 * Returns how many people some users certainly are: the most of them of whom no two may be the same person. Several identities
 * of one person count once.
 */
export async function countPeople(db: Database | Transaction, userIds: readonly string[]): Promise<number> {
  const ids = [...new Set(userIds)];
  if (ids.length < 2) return ids.length;
  const roots = sqlText`select one, one from unnest(${`{${ids.join()}}`}::text::uuid[]) one`;
  const pairs = await execute<{ root: string; id: string }>(
    db,
    sqlText`
    with recursive ${relatedTo(roots)}
    select root, id from own union select root, id from near`,
  );
  const same = new Set(pairs.flatMap(({ root, id }) => [`${root} ${id}`, `${id} ${root}`]));
  return mostApart(ids, (one, other) => same.has(`${one} ${other}`));
}

/** How many deciders are compared in every way; among more, the count may be lower than it could be, and never higher. */
const mostCompared = 16;

function mostApart(ids: readonly string[], isSame: (one: string, other: string) => boolean): number {
  const [first, ...rest] = ids;
  if (first === undefined) return 0;
  const others = rest.filter((other) => !isSame(first, other));
  const withFirst = 1 + mostApart(others, isSame);
  if (others.length === rest.length || ids.length > mostCompared) return withFirst;
  return Math.max(withFirst, mostApart(rest, isSame));
}

/**
 * Returns the tables of a query: `own` are users with the subjects of the users `root` (`roots` is a query of each, twice); `held` are their names, with those of their
 * accounts at directories; `near` are the users who share such a name. Of two names at directories neither was proved by a sign-in, so
 * they join no one.
 */
function relatedTo(roots: SqlText): SqlText {
  const overlaps = sqlText`held.since <= coalesce(b.until, 'infinity') + ${reuse} and b.since <= coalesce(held.until, 'infinity') + ${reuse}`;
  const apart = (
    other: SqlText,
    newest: SqlText,
  ) => sqlText`exists (select from ${separations} s where s.one = least(held.user_id, ${other})
    and s.other = greatest(held.user_id, ${other}) and s.through >= greatest(held.id, b.id) and s.separated_at >= ${newest})`;
  return sqlText`
    own (root, id) as (
      ${roots}
      union
      select own.root, b.user_id from own
        join ${attachments} a on a.user_id = own.id and a.kind = 'subject'
        join ${attachments} b on b.name = a.name and b.kind = 'subject' and b.user_id is not null),
    held as (
      select own.root, a.id, a.user_id, a.provider, a.subject, a.kind, a.name, a.since, a.until, a.since as newest
        from own join ${attachments} a on a.user_id = own.id and a.kind <> 'subject'
      union all
      select own.root, a.id, own.id, a.provider, null, a.kind, a.name, a.since, a.until, c.since
        from own join ${accountAttachments} c on c.user_id = own.id and c.until is null join ${attachments} a on a.account_id = c.account_id),
    near (root, id, kind, name) as (
      (select held.root, b.user_id, held.kind, held.name from held
        join ${attachments} b on b.name = held.name and b.kind = held.kind and b.user_id is not null
        where ${overlaps} and not ${apart(sqlText`b.user_id`, sqlText`held.newest`)}
          and not exists (select from own where own.root = held.root and own.id = b.user_id)
      union
      select held.root, c.user_id, held.kind, held.name from held
        join ${attachments} b on b.name = held.name and b.kind = held.kind and b.account_id is not null
        join ${accountAttachments} c on c.account_id = b.account_id and c.until is null
        where held.subject is not null and ${overlaps} and not ${apart(sqlText`c.user_id`, sqlText`greatest(held.newest, c.since)`)}
          and not exists (select from own where own.root = held.root and own.id = c.user_id))
      union
      select near.root, b.user_id, near.kind, near.name from near
        join ${attachments} a on a.user_id = near.id and a.kind = 'subject'
        join ${attachments} b on b.name = a.name and b.kind = 'subject' and b.user_id is not null)`;
}
