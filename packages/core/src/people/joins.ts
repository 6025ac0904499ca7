import { AccessError } from '@belay/contract/errors';
import {
  accountAttachments,
  attachments,
  type Database,
  notices,
  separations,
  type Transaction,
  users,
} from '@belay/db';
import { asc, inArray, max, sql } from 'drizzle-orm';
import type { Store } from '../context.js';
import { appendLedger } from '../ledger/append.js';
import type { Self } from './selves.js';

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
 * for each pair: people who only share a mailbox can be separated (`separatePeople`). Rejects with the same error.
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

export async function readPair(db: Database | Transaction, ids: readonly string[]) {
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

/** Records that two users are two people, although they have or had one name. The caller has locked both. */
export async function recordSeparation(tx: Transaction, [one, other]: [string, string], reason: string): Promise<void> {
  const separated = { reason, through: await readNewest(tx, [one, other]), separatedAt: sql`app_now()` };
  await tx
    .insert(separations)
    .values({ one, other, ...separated })
    .onConflictDoUpdate({ target: [separations.one, separations.other], set: separated });
}
