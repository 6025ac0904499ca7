import { AccessError, notFound } from '@belay/contract/errors';
import {
  accountAttachments,
  attachments,
  type Database,
  notices,
  separations,
  type Transaction,
  users,
} from '@belay/db';
import { and, asc, eq, inArray, max, sql } from 'drizzle-orm';
import { requireReason } from '../access/revoke.js';
import { nameOf } from '../actor.js';
import type { ActorStore, Store } from '../context.js';
import { isId } from '../find-execution.js';
import { appendLedger } from '../ledger/append.js';
import { requireText } from '../text.js';
import { findKnown } from './known.js';
import { requireAdministrator } from './oversight.js';
import { listSelves, type Self } from './selves.js';

/** The cause of a rejection: that two users may be one person was known only by an address or a chat that they share. */
class Joined extends Error {
  constructor(
    readonly one: string,
    readonly other: string,
  ) {
    super('Two users share an address');
  }
}

/** Returns the options of an error that rejects a user by these identities: with the join as its cause, if only a join says that they are theirs. */
export function causeOf(userId: string, by: readonly Self[]): { cause?: Error } {
  const [first] = by;
  if (first === undefined || by.some((self) => self.joined !== true)) return {};
  return { cause: new Joined(userId, first.id) };
}

/**
 * Runs work that may reject a decision. When a join took the right to decide away, records it in the ledger and tells operators, once
 * for each pair: people who only share a mailbox can be told apart (`separatePeople`). Rejects with the same error.
 */
export async function tellingJoins<Result>(ctx: Store, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AccessError && error.cause instanceof Joined) await tell(ctx, error.cause);
    throw error;
  }
}

async function tell(ctx: Store, { one, other }: Joined): Promise<void> {
  const people = await readPair(ctx.db, [one, other]);
  const [first, second] = people.map(({ id, email }) => `${email} (${id})`);
  const text = `${first} and ${second} have or had one address, so neither counts as another person than the other: a decision was rejected`;
  const told = ctx.catalog.current().document.messages;
  await ctx.db.transaction(async (tx) => {
    await appendLedger(tx, [
      {
        type: 'people.joined',
        level: 'warning',
        message: text,
        actor: { kind: 'system', name: 'people' },
        userId: one,
        data: { users: [one, other] },
      },
    ]);
    if (!told?.kinds.includes('people.joined') || told.operators.length === 0) return;
    const cure = `If they are two people: belay user separate ${one} ${other} --reason <text>`;
    const key = `people.joined:${people.map(({ id }) => id).join(':')}:${await readNewest(tx, [one, other])}`;
    await tx
      .insert(notices)
      .values({ key, kind: 'people.joined', text: `${text}\n${cure}` })
      .onConflictDoNothing();
  });
}

async function readPair(db: Database | Transaction, ids: readonly string[]) {
  return db
    .select({ id: users.id, email: users.email })
    .from(users)
    .where(inArray(users.id, [...ids]))
    .orderBy(asc(users.id));
}

/** Returns the latest name that some users have or had, those of their accounts at directories included. */
async function readNewest(db: Database | Transaction, ids: readonly string[]): Promise<number> {
  const accounts = db
    .select({ id: accountAttachments.accountId })
    .from(accountAttachments)
    .where(inArray(accountAttachments.userId, [...ids]));
  const [newest] = await db
    .select({ id: max(attachments.id) })
    .from(attachments)
    .where(sql`${inArray(attachments.userId, [...ids])} or ${inArray(attachments.accountId, accounts)}`);
  return newest?.id ?? 0;
}

export interface SeparatePeople {
  /** An address, or the id of a user. */
  user: string;
  other: string;
  reason: string;
}

/**
 * Records that two users are two people, although they have or had one address (`belay user separate`): names that both have or had by
 * now join them no longer, newer ones do. Administrators and operators only, with a reason, audited; not by one of the two. Throws
 * `forbidden`, `invalid`, `not_found`, and `conflict` for users with one subject of an issuer, and for an address of several people.
 */
export async function separatePeople(ctx: ActorStore, input: SeparatePeople): Promise<{ message: string }> {
  requireAdministrator(ctx);
  const reason = requireReason(input.reason);
  const { actor } = ctx;
  return ctx.db.transaction(async (tx) => {
    const ids = [await findOne(ctx, tx, input.user, 'user'), await findOne(ctx, tx, input.other, 'other')].sort();
    const [one = '', other = ''] = ids;
    if (one === other) throw new AccessError('conflict', 'Both names are of one user: their sign-ins are linked');
    if (actor.kind === 'user') {
      const selves = [actor, ...(await listSelves(tx, actor.id))];
      if (selves.some(({ id }) => ids.includes(id)))
        throw new AccessError(
          'forbidden',
          'You cannot separate yourself from another account: another person decides about it',
        );
    }
    // Locked as sign-ins and SCIM requests lock them, so that no name is attached between the check and the record.
    await tx
      .select({ id: users.id })
      .from(users)
      .where(inArray(users.id, ids))
      .orderBy(asc(users.id))
      .for('no key update');
    const selves = await listSelves(tx, one);
    if (selves.some(({ id, joined }) => id === other && joined !== true))
      throw new AccessError('conflict', 'Their sign-ins have one subject of the same issuer: they are one person');
    const separated = { reason, through: await readNewest(tx, ids), separatedAt: sql`app_now()` };
    await tx
      .insert(separations)
      .values({ one, other, ...separated })
      .onConflictDoUpdate({ target: [separations.one, separations.other], set: separated });
    const named = (await readPair(tx, ids)).map(({ email, id }) => `${email} (${id})`).join(' and ');
    await appendLedger(
      tx,
      ids.map((userId) => ({
        type: 'people.separated' as const,
        level: 'warning' as const,
        message: `${nameOf(actor)} separated ${named}: ${reason}`,
        actor,
        userId,
        data: { reason, users: ids },
      })),
    );
    return { message: `${named} count as two people` };
  });
}

async function findOne(ctx: Store, tx: Transaction, given: string, path: string): Promise<string> {
  const name = requireText(given.trim(), path, 320);
  if (isId(name)) {
    const [found] = await tx
      .select({ id: users.id })
      .from(users)
      .where(and(eq(users.id, name)));
    if (!found) throw notFound(`A person with the id ${name}`);
    return found.id;
  }
  const { ids } = await findKnown(ctx, tx, name);
  const [id] = ids;
  if (id === undefined) throw notFound(`A person with the address ${name}`);
  if (ids.length > 1)
    throw new AccessError('conflict', `${path}: several people have this address; use an id: ${ids.join(', ')}`);
  return id;
}
