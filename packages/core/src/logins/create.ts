import type { Database, Transaction } from '@belay/db';
import type { Person, Store } from '../context.js';
import { appendLedger } from '../ledger/append.js';
import { type LoginKind, luciaOf, newLoginSecret } from './lucia.js';

/** Creates a login for a person who has proved who they are. Returns its secret, which is stored nowhere. */
export async function createLogin(
  ctx: Store,
  input: { user: Person; kind: Exclude<LoginKind, 'token'>; label?: string; sid?: string | null | undefined },
  db: Database | Transaction = ctx.db,
): Promise<{ token: string; expiresAt: Date; loginId: string }> {
  const token = newLoginSecret(ctx);
  const now = ctx.clock();
  const endsAt = new Date(now.getTime() + ctx.catalog.current().loginEnd[input.kind]);
  const attributes = {
    loginId: ctx.newId(),
    kind: input.kind,
    provider: input.user.provider,
    subject: input.user.subject,
    label: input.label ?? null,
    sid: input.sid ?? null,
    until: endsAt,
    endsAt,
    toldAt: null,
    now,
  };
  const session = await luciaOf(ctx, { db }).createSession(input.user.id, attributes, { sessionId: token });
  await appendLedger(db, [
    {
      type: 'login.created',
      message: `${input.user.email} signed in with ${input.user.provider}`,
      actor: { kind: 'user', ...input.user, loginId: attributes.loginId },
      userId: input.user.id,
      provider: input.user.provider,
      data: { kind: input.kind, login_id: attributes.loginId },
    },
  ]);
  const expiresAt = new Date(Math.min(session.expiresAt.getTime(), endsAt.getTime()));
  return { token, expiresAt, loginId: attributes.loginId };
}
