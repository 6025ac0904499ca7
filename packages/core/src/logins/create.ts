import { type Database, type Transaction, users } from '@belay/db';
import { eq, sql } from 'drizzle-orm';
import type { Context } from '../context.js';
import { appendLedger } from '../ledger/append.js';
import { type LoginKind, luciaOf, newLoginSecret } from './lucia.js';

export interface Person {
  id: string;
  email: string;
  name: string;
  groups: string[];
  provider: string;
  subject: string;
}

/** Makes a login for a person who has proved who they are. Answers its secret, which is kept nowhere. */
export async function createLogin(
  ctx: Context,
  input: { user: Person; kind: Exclude<LoginKind, 'token'>; label?: string },
): Promise<{ token: string; expiresAt: Date }> {
  const token = newLoginSecret(ctx);
  const attributes = {
    loginId: ctx.newId(),
    kind: input.kind,
    provider: input.user.provider,
    label: input.label ?? null,
  };
  const session = await luciaOf(ctx).createSession(input.user.id, attributes, { sessionId: token });
  await appendLedger(ctx.db, [
    {
      type: 'login.created',
      message: `${input.user.email} signed in with ${input.user.provider}`,
      actor: { kind: 'user', ...input.user, loginId: attributes.loginId },
      userId: input.user.id,
      provider: input.user.provider,
      data: { kind: input.kind, login_id: attributes.loginId },
    },
  ]);
  return { token, expiresAt: session.expiresAt };
}

/** The person a provider vouches for, known by provider and subject; name, e-mail and groups are as it says now. */
export async function upsertUser(db: Database | Transaction, person: Person): Promise<Person> {
  const [row] = await db
    .insert(users)
    .values(person)
    .onConflictDoUpdate({
      target: [users.provider, users.subject],
      set: { email: person.email, name: person.name, groups: person.groups, updatedAt: sql`app_now()` },
    })
    .returning();
  if (!row) throw new Error('A person could not be stored');
  return row;
}

/** A person by their id. */
export async function readUser(db: Database | Transaction, id: string): Promise<Person | undefined> {
  const [row] = await db.select().from(users).where(eq(users.id, id));
  return row;
}
