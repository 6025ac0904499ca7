import type { PersonDetails } from '@belay/contract/admin';
import { notFound } from '@belay/contract/errors';
import { executions, logins, userIdentities, users } from '@belay/db';
import { and, asc, desc, gt, inArray, isNull, sql } from 'drizzle-orm';
import { listAccessOf } from '../access/list-all.js';
import type { ActorStore, Store } from '../context.js';
import { findKnown, isRequestOf, type Known } from '../people/known.js';
import { requireOverseer } from '../people/oversight.js';
import { requireText } from '../text.js';
import { readPeople } from './list.js';

const most = 200;

/**
 * Returns a person with their identities, logins, tokens, access and open requests, by an address that one of their
 * providers knows (GET /admin/people/{user}); never a secret. Throws `forbidden` and `not_found`.
 */
export async function getPerson(ctx: ActorStore, input: { user: string }): Promise<PersonDetails> {
  requireOverseer(ctx);
  const address = requireText(input.user.trim(), 'user', 320);
  const known = await findKnown(ctx, ctx.db, address);
  const { ids } = known;
  const [person] = ids.length === 0 ? [] : await readPeople(ctx, inArray(users.id, ids), 1);
  if (!person) throw notFound(`A person with the address ${address}`);
  const [identities, found, access, requests] = await Promise.all([
    readIdentities(ctx, ids),
    readLogins(ctx, ids),
    listAccessOf(ctx, known, most),
    readRequests(ctx, known),
  ]);
  return { person, identities, logins: found, access, requests };
}

async function readIdentities(ctx: Store, ids: string[]): Promise<PersonDetails['identities']> {
  const rows = await ctx.db
    .select()
    .from(userIdentities)
    .where(inArray(userIdentities.userId, ids))
    .orderBy(asc(userIdentities.provider), asc(userIdentities.subject))
    .limit(most);
  return rows.map(({ provider, subject, email, toldAt }) => ({
    provider,
    subject,
    email,
    told_at: toldAt.toISOString(),
  }));
}

async function readLogins(ctx: Store, ids: string[]): Promise<PersonDetails['logins']> {
  const rows = await ctx.db
    .select()
    .from(logins)
    .where(and(inArray(logins.userId, ids), gt(logins.expiresAt, sql`app_now()`)))
    .orderBy(desc(logins.createdAt), asc(logins.id))
    .limit(most);
  return rows.map(({ id, kind, provider, label, createdAt, expiresAt }) => ({
    id,
    kind: kind as PersonDetails['logins'][number]['kind'],
    provider,
    label,
    created_at: createdAt.toISOString(),
    expires_at: expiresAt.toISOString(),
  }));
}

async function readRequests(ctx: Store, known: Known): Promise<PersonDetails['requests']> {
  const rows = await ctx.db
    .select({
      id: executions.id,
      role: sql<string>`${executions.input} ->> 'role'`,
      status: executions.status,
      createdAt: executions.createdAt,
    })
    .from(executions)
    .where(and(isRequestOf(known), isNull(executions.endedAt)))
    .orderBy(desc(executions.createdAt))
    .limit(most);
  return rows.map(({ createdAt, ...row }) => ({ ...row, created_at: createdAt.toISOString() }));
}
