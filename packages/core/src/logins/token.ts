import { logins, users } from '@belay/db';
import { desc, eq, sql } from 'drizzle-orm';
import { hashSecret } from '../canonical.js';
import type { ActorContext } from '../context.js';
import { requireDuration } from '../duration.js';
import { AccessError, invalid } from '../errors.js';
import { appendLedger } from '../ledger/append.js';
import { requireText } from '../text.js';
import { newLoginSecret } from './lucia.js';
import { upsertUser } from './people.js';

/** Tokens that an operator made belong to nobody's provider. */
const OPERATOR_PROVIDER = 'operator';
const longest = 366 * 24 * 60 * 60_000;

export interface CreateToken {
  /** E-mail address. */
  user: string;
  /** ISO 8601 or the short form. */
  ttl: string;
  /** For a person nobody has signed in as yet. */
  groups?: string[] | undefined;
  label?: string | undefined;
}

/**
 * Makes a bearer token for a person or an automation (`belay token create`): operators only, audited, with a fixed end.
 * A person who has signed in keeps the name and groups their provider gave them; groups may be named only for others.
 */
export async function createToken(
  ctx: ActorContext,
  input: CreateToken,
): Promise<{ token: string; expires_at: string; user: { email: string; name: string; groups: string[] } }> {
  if (ctx.actor.kind !== 'operator') throw new AccessError('forbidden', 'Only operators make tokens');
  const ttl = requireDuration(input.ttl, 'ttl');
  if (ttl > longest) throw invalid('ttl', 'is longer than a year');
  const email = input.user.trim().toLowerCase();
  if (!/^[^\s@]+@[^\s@]+$/.test(email)) throw invalid('user', 'is not an e-mail address');
  if (input.label !== undefined) requireText(input.label, 'label', 200);
  const token = newLoginSecret(ctx);
  const { actor } = ctx;
  return ctx.db.transaction(async (tx) => {
    const [known] = await tx
      .select()
      .from(users)
      .where(eq(sql`lower(${users.email})`, email))
      .orderBy(desc(users.updatedAt))
      .limit(1);
    if (known && known.provider !== OPERATOR_PROVIDER && input.groups?.length) {
      throw invalid('groups', `come from "${known.provider}" for ${known.email}`);
    }
    const groups = input.groups ?? known?.groups ?? [];
    const user =
      known && known.provider !== OPERATOR_PROVIDER
        ? known
        : await upsertUser(tx, {
            id: ctx.newId(),
            provider: OPERATOR_PROVIDER,
            subject: email,
            email,
            name: known?.name ?? email,
            groups,
          });
    const loginId = ctx.newId();
    const [login] = await tx
      .insert(logins)
      .values({
        secretHash: hashSecret(token),
        id: loginId,
        userId: user.id,
        kind: 'token',
        provider: user.provider,
        subject: user.subject,
        label: input.label ?? null,
        expiresAt: sql`app_now() + ${`${ttl} milliseconds`}::interval`,
      })
      .returning({ expiresAt: logins.expiresAt });
    await appendLedger(tx, [
      {
        type: 'token.created',
        level: 'warning',
        message: `A token was made for ${user.email}`,
        actor,
        userId: user.id,
        data: { login_id: loginId, label: input.label ?? null, expires_at: login?.expiresAt.toISOString() ?? null },
      },
    ]);
    return {
      token,
      expires_at: login?.expiresAt.toISOString() ?? '',
      user: { email: user.email, name: user.name, groups: user.groups },
    };
  });
}
