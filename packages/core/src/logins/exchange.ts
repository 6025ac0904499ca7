import { timingSafeEqual } from 'node:crypto';
import { loginCodes } from '@belay/db';
import { and, eq, gt, isNull, sql } from 'drizzle-orm';
import { hashSecret } from '../canonical.js';
import type { Context } from '../context.js';
import { AccessError } from '../errors.js';
import { createLogin, readUser } from './create.js';

export interface ExchangedLogin {
  token: string;
  expires_at: string;
  user: { email: string; name: string; groups: string[]; provider: string };
}

/**
 * Exchanges the code that a program got at its loopback callback for its own login, once and within a minute; only the
 * program that began it knows the verifier (RFC 7636). Throws `forbidden` for everything that does not fit, alike.
 */
export async function exchangeLoginCode(
  ctx: Context,
  input: { code: string; code_verifier: string },
): Promise<ExchangedLogin> {
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
  const user =
    row && isVerifier(input.code_verifier, row.codeChallenge) ? await readUser(ctx.db, row.userId) : undefined;
  if (!user) throw new AccessError('forbidden', 'The code is unknown, used or too old');
  const { token, expiresAt } = await createLogin(ctx, { user, kind: 'device' });
  const { email, name, groups, provider } = user;
  return { token, expires_at: expiresAt.toISOString(), user: { email, name, groups, provider } };
}

/** S256: the challenge is the hash of the verifier. */
function isVerifier(verifier: string, challenge: string): boolean {
  const hashed = Buffer.from(hashSecret(verifier));
  const expected = Buffer.from(challenge);
  return hashed.length === expected.length && timingSafeEqual(hashed, expected);
}
