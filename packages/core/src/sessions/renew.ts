import { AccessError } from '@belay/contract/errors';
import { sessions, userIdentities } from '@belay/db';
import { type Authenticator, type ProviderTokens, Retryable, Terminal, type ToldPerson } from '@belay/providers';
import { and, eq, sql } from 'drizzle-orm';
import type { Context } from '../context.js';
import { appendLedger } from '../ledger/append.js';
import { readNow } from '../now.js';
import { identityOf } from '../people/link.js';
import { refreshIdentity } from '../people/people.js';
import { requireReadable } from '../people/proved.js';
import { asProvisioned, settleProvisioned } from '../people/provisioned.js';
import { endAtProvider } from './end-at-provider.js';
import { lifeOf, openTokens } from './seal-tokens.js';

type Row = typeof sessions.$inferSelect;

/**
 * The result: `renewed`; `silent` when this session cannot be renewed, for example because its provider does not
 * support that; `over` when the provider no longer accepts the sign-in, and what belonged to the sign-in has ended;
 * `later` when the provider was not available or the session has changed meanwhile.
 */
export type Renewal = 'renewed' | 'silent' | 'over' | 'later';

const actor = { kind: 'system' as const, name: 'sessions' };

/**
 * Calls the provider of a claimed session (`leaseUntil`), for new tokens or for the current data of the person. The
 * result counts only while the session is unchanged since the claim. Never throws the error of the provider.
 */
export async function renewSession(ctx: Context, row: Row, want: 'tokens' | 'person'): Promise<Renewal> {
  const now = await readNow(ctx.db);
  try {
    const old = await openTokens(ctx, row.sealed, now).catch((error: unknown) => {
      if (error instanceof AccessError && error.code === 'unavailable') throw error;
      return undefined;
    });
    if (old === undefined) return await giveUp(ctx, row, 'its tokens can no longer be read');
    // Disabled, or not ready here: that may be temporary, and another process may be able to call it.
    const client = ctx.catalog.client(row.provider);
    if (!client) throw new Retryable('The provider has no client');
    const told = want === 'person' && row.expiresAt > now ? await reread(ctx, client.authenticator, row, old) : null;
    if (told) return await record(ctx, row, { person: told });
    if (!client.authenticator?.refresh || old.refreshToken === undefined) {
      return want === 'tokens'
        ? giveUp(ctx, row, 'the provider does not support refreshing sessions')
        : await release(ctx, row);
    }
    const request = { refreshToken: old.refreshToken, subject: row.subject, idToken: old.idToken };
    const { tokens, person } = await client.authenticator.refresh(request, AbortSignal.timeout(ctx.timing.callTimeout));
    const life = await lifeOf(ctx, row.provider, { ...kept(old), ...tokens }, { now, endsAt: row.endsAt });
    const renewed = await record(ctx, row, { life, ...(person ? { person } : {}) });
    return want === 'person' && !person && renewed === 'renewed' ? 'silent' : renewed;
  } catch (error) {
    if (error instanceof Terminal || (error instanceof AccessError && error.code === 'forbidden')) {
      return end(ctx, row);
    }
    ctx.log.warn({ provider: row.provider, error }, 'a session could not be refreshed yet');
    await ctx.db
      .update(sessions)
      .set({ leaseUntil: null, ...(want === 'tokens' ? { refreshAt: later(ctx.timing.session.retry) } : {}) })
      .where(unchanged(row));
    return 'later';
  }
}

function later(milliseconds: number) {
  return sql`app_now() + ${`${milliseconds} milliseconds`}::interval`;
}

/** Returns the old tokens that are kept when the provider does not send them again. */
function kept({ refreshToken, idToken, sid }: ProviderTokens): ProviderTokens {
  return {
    ...(refreshToken === undefined ? {} : { refreshToken }),
    ...(idToken === undefined ? {} : { idToken }),
    ...(sid === undefined ? {} : { sid }),
  };
}

async function reread(ctx: Context, authenticator: Authenticator | undefined, row: Row, tokens: ProviderTokens) {
  if (!authenticator?.reread) return null;
  return authenticator.reread({ tokens, subject: row.subject }, AbortSignal.timeout(ctx.timing.callTimeout));
}

/** Matches the claimed session by `sealed`, which is unique: another login may have replaced its login meanwhile. */
function unchanged(row: Row) {
  return and(eq(sessions.userId, row.userId), eq(sessions.provider, row.provider), eq(sessions.sealed, row.sealed));
}

/** Stores the result, or drops it when the login has ended or the person has signed in again. */
async function record(
  ctx: Context,
  row: Row,
  learnt: { life?: Awaited<ReturnType<typeof lifeOf>>; person?: ToldPerson },
): Promise<Renewal> {
  const { life, person } = learnt;
  const told = person && requireReadable({ ...person, tokens: {} });
  return ctx.db.transaction(async (tx) => {
    const [made] = await tx
      .update(sessions)
      .set({ ...(life ? { ...life, version: sql`${sessions.version} + 1` } : {}), leaseUntil: null })
      .where(unchanged(row))
      .returning({ version: sessions.version, loginId: sessions.loginId });
    if (!made) return 'later';
    const { provider, subject, userId } = row;
    if (told) {
      const [before] = await tx
        .select({ groups: userIdentities.groups })
        .from(userIdentities)
        .where(and(eq(userIdentities.provider, provider), eq(userIdentities.subject, subject)));
      const now = await asProvisioned(ctx, tx, identityOf(ctx, provider, told));
      const { email, groups } = now;
      await refreshIdentity(tx, now);
      // What a directory reported meanwhile counts as well.
      await settleProvisioned(ctx, tx, [userId]);
      const [left, joined] = [difference(before?.groups, groups), difference(groups, before?.groups)];
      if (left.length + joined.length > 0) {
        await appendLedger(tx, [
          {
            type: 'groups.changed',
            message: `"${provider}" returned different groups for ${email}`,
            actor,
            userId,
            provider,
            data: { left, joined },
          },
        ]);
      }
    }
    if (!life) return 'renewed';
    await appendLedger(tx, [
      {
        type: 'session.refreshed',
        message: `The session with ${provider} was refreshed`,
        actor,
        userId,
        provider,
        data: { version: made.version, expires_at: life.expiresAt.toISOString(), login_id: made.loginId },
      },
    ]);
    return 'renewed';
  });
}

function difference(some: readonly string[] = [], others: readonly string[] = []): string[] {
  return some.filter((one) => !others.includes(one));
}

async function release(ctx: Context, row: Row): Promise<Renewal> {
  await ctx.db.update(sessions).set({ leaseUntil: null }).where(unchanged(row));
  return 'silent';
}

/** Ends what belongs to a sign-in that the provider no longer accepts. */
async function end(ctx: Context, row: Row): Promise<Renewal> {
  await ctx.db.transaction(async (tx) => {
    const [claimed] = await tx.select({ loginId: sessions.loginId }).from(sessions).where(unchanged(row));
    if (!claimed) return;
    const because = `"${row.provider}" no longer accepts the sign-in`;
    await endAtProvider(tx, { provider: row.provider, ended: { loginId: claimed.loginId }, because });
  });
  return 'over';
}

/** Stops refreshing: the session lasts as long as its tokens and no longer. */
async function giveUp(ctx: Context, row: Row, because: string): Promise<Renewal> {
  await ctx.db.transaction(async (tx) => {
    const gone = await tx
      .update(sessions)
      .set({ refreshAt: null, leaseUntil: null })
      .where(unchanged(row))
      .returning({ loginId: sessions.loginId });
    if (gone.length === 0) return;
    await appendLedger(tx, [
      {
        type: 'session.refresh.refused',
        level: 'warning',
        message: `The session with ${row.provider} will not be refreshed: ${because}`,
        actor,
        userId: row.userId,
        provider: row.provider,
        data: { login_id: row.loginId },
      },
    ]);
  });
  return 'silent';
}
