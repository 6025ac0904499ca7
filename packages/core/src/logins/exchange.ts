import { timingSafeEqual } from 'node:crypto';
import type { ExchangedToken } from '@belay/contract/auth';
import { hashSecret } from '@belay/contract/canonical';
import { AccessError } from '@belay/contract/errors';
import { loginCodes, logins, type Transaction } from '@belay/db';
import { and, eq, gt, isNull, sql } from 'drizzle-orm';
import type { Context } from '../context.js';
import { readNow } from '../now.js';
import { readPerson } from '../people/people.js';
import { sealSession } from '../sessions/issue.js';
import { openSession } from '../sessions/open.js';
import { openTokens } from '../sessions/seal-tokens.js';
import { createLogin } from './create.js';

/**
 * Exchanges the code that a program got at its callback for a login of its own, once and within a minute. Only the
 * program that started the sign-in knows the verifier (RFC 7636). Throws the same `forbidden` for every mismatch.
 */
export async function exchangeLoginCode(
  ctx: Context,
  input: { code: string; code_verifier: string },
): Promise<ExchangedToken> {
  const [row] = await ctx.db
    .update(loginCodes)
    .set({ consumedAt: sql`app_now()` })
    .where(
      and(
        eq(loginCodes.codeHash, hashSecret(input.code)),
        isNull(loginCodes.consumedAt),
        gt(loginCodes.expiresAt, sql`app_now()`),
      ),
    )
    .returning();
  const fits = row && isVerifier(input.code_verifier, row.codeChallenge) ? row : undefined;
  const { userId, provider, subject, sealed } = fits ?? {};
  const user = userId && provider && subject ? await readPerson(ctx, ctx.db, { userId, provider, subject }) : undefined;
  if (!user || !sealed) throw unknown();
  const now = await readNow(ctx.db);
  const tokens = await openTokens(ctx, sealed, now);
  const { login, opened } = await ctx.db.transaction(async (tx) => {
    await requireApprovedIn(tx, fits?.loginId ?? null);
    const made = await createLogin(ctx, { user, kind: 'device', sid: tokens.sid }, tx);
    return {
      login: made,
      opened: await openSession(ctx, tx, { user, loginId: made.loginId, kind: 'device', tokens, now }),
    };
  });
  const { email, name, groups } = user;
  return {
    token: login.token,
    expires_at: login.expiresAt.toISOString(),
    user: { email, name, groups, provider: user.provider },
    session: await sealSession(ctx, user, { ...opened, loginId: login.loginId, provider: user.provider }, now),
  };
}

/**
 * Locks the login in which the code was approved, so that it cannot end before the program's own login exists. Throws `forbidden` when it
 * has ended.
 */
async function requireApprovedIn(tx: Transaction, loginId: string | null): Promise<void> {
  if (loginId === null) return;
  const [login] = await tx
    .select({ id: logins.id })
    .from(logins)
    .where(and(eq(logins.id, loginId), gt(logins.expiresAt, sql`app_now()`)))
    .for('key share');
  if (!login) throw unknown();
}

function unknown(): AccessError {
  return new AccessError('forbidden', 'The code is unknown, already used or expired');
}

/** Returns whether the S256 hash of a verifier equals the challenge. Compares in constant time. */
function isVerifier(verifier: string, challenge: string): boolean {
  const hashed = Buffer.from(hashSecret(verifier));
  const expected = Buffer.from(challenge);
  return hashed.length === expected.length && timingSafeEqual(hashed, expected);
}
