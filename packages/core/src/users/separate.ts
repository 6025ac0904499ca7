import { AccessError, notFound } from '@belay/contract/errors';
import { type Transaction, users } from '@belay/db';
import { eq } from 'drizzle-orm';
import { requireReason } from '../access/revoke.js';
import { nameOf } from '../actor.js';
import type { ActorStore, Store } from '../context.js';
import { isId } from '../find-execution.js';
import { appendLedger } from '../ledger/append.js';
import { readPair, recordSeparation } from '../people/joins.js';
import { findKnown } from '../people/known.js';
import { requireAdministrator } from '../people/oversight.js';
import { lockUsers } from '../people/people.js';
import { listSelves } from '../people/selves.js';
import { requireText } from '../text.js';

export interface SeparatePeople {
  /** An address, or the id of a user. */
  user: string;
  other: string;
  reason: string;
}

/**
 * Records that two users are two people, although they have or had one address (`belay user separate`): names that both have or had
 * until then no longer join them, newer ones do. Administrators and operators only, with a reason, audited; not by one of the two. Throws
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
    await lockUsers(tx, ids);
    const selves = await listSelves(tx, one);
    if (selves.some(({ id, joined }) => id === other && joined !== true))
      throw new AccessError('conflict', 'Their sign-ins have one subject of the same issuer: they are one person');
    await recordSeparation(tx, [one, other], reason);
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
    const [found] = await tx.select({ id: users.id }).from(users).where(eq(users.id, name));
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
