import { notFound } from '@belay/contract/errors';
import type { Transaction } from '@belay/db';
import { retryDeadlock } from '@belay/engine';
import { requireReason } from '../access/revoke.js';
import { nameOf } from '../actor.js';
import type { ActorStore, Job } from '../context.js';
import { appendLedger } from '../ledger/append.js';
import { findKnown } from '../people/known.js';
import { requireAdministrator } from '../people/oversight.js';
import { requireText } from '../text.js';
import { endPeople } from './end-people.js';

export interface StopUser {
  /** E-mail address. */
  user: string;
  reason: string;
}

export interface StoppedUser {
  message: string;
  /** How many browsers and devices were signed in. */
  logins: number;
  tokens: number;
  /** The executions that were still running. */
  requests: string[];
  /** The executions that had ended, or belong to others, and still held access. */
  access: string[];
}

/** How often the transaction is tried: sign-outs and grants may lock the same rows at the same time. */
const attempts = 5;

/**
 * Ends the logins, tokens, open requests and access of a person in one transaction (`belay user stop`), including what colleagues
 * requested for one of their addresses. Administrators and operators only, with a reason, audited. Decisions of the person stay,
 * and the person can sign in again if their provider lets them. Throws `forbidden`, `invalid` or `not_found`.
 */
export async function stopUser(ctx: ActorStore, input: StopUser): Promise<StoppedUser> {
  requireAdministrator(ctx);
  const reason = requireReason(input.reason);
  const address = requireText(input.user.trim(), 'user', 320);
  const { jobs, ...stopped } = await retryDeadlock(
    () => ctx.db.transaction((tx) => stop(ctx, tx, address, reason)),
    attempts,
  );
  ctx.crashpoint('stopped');
  ctx.waker.wake(jobs);
  return stopped;
}

async function stop(
  ctx: ActorStore,
  tx: Transaction,
  address: string,
  reason: string,
): Promise<StoppedUser & { jobs: Job[] }> {
  const { actor } = ctx;
  // Locked before anything else is read: a concurrent request or sign-in of the person has either committed before, or waits for
  // this transaction (`requireLive`).
  const known = await findKnown(ctx, tx, address, true);
  if (known.ids.length === 0) throw notFound(`A person with the address ${address}`);
  const { ended, requests, access, jobs } = await endPeople(ctx, tx, known, {
    name: nameOf(actor),
    reason: 'revoked',
  });
  const tokens = ended.filter(({ kind }) => kind === 'token').length;
  const counts = { logins: ended.length - tokens, tokens, requests, access };
  await appendLedger(tx, [
    ...known.ids.map((userId) => ({
      type: 'user.stopped' as const,
      level: 'warning' as const,
      message: `${nameOf(actor)} stopped ${known.email}: ${reason}`,
      actor,
      userId,
      data: { reason, ...counts },
    })),
  ]);
  const message = `${known.email} is stopped: ended ${ended.length} logins and tokens, ${requests.length} open requests and the access of ${access.length} earlier requests`;
  return { message, ...counts, jobs };
}
