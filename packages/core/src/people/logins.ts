import { userIdentities } from '@belay/db';
import type { Identities, Login, Person as Sought } from '@belay/providers';
import { asc, eq } from 'drizzle-orm';
import type { Store } from '../context.js';
import { unmetCondition } from './admission.js';

/** Returns the person to look up at a provider: with the person's linked sign-ins if the provider uses them. */
export async function soughtBy(
  ctx: Store,
  identities: Pick<Identities, 'byLogin'>,
  { id, email, name, subject }: Pick<Sought, 'email' | 'name' | 'subject'> & { id: string },
): Promise<Sought> {
  const sought = { email, name, subject };
  return identities.byLogin ? { ...sought, logins: await readLinked(ctx, id) } : sought;
}

/** Returns the sign-ins that are linked to a person and that the configuration lets them use. */
async function readLinked(ctx: Store, userId: string): Promise<Login[]> {
  const catalog = ctx.catalog.current();
  const linked = await ctx.db
    .select()
    .from(userIdentities)
    .where(eq(userIdentities.userId, userId))
    .orderBy(asc(userIdentities.provider), asc(userIdentities.subject));
  return linked
    .filter((identity) => catalog.authenticators.includes(identity.provider))
    .filter((identity) => unmetCondition(catalog, identity) === undefined)
    .map(({ provider, subject }) => ({ provider, subject }));
}
