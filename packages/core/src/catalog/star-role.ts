import type { RoleStar, StarredRoles } from '@belay/contract/roles';
import { starredRoles } from '@belay/db';
import { and, desc, eq } from 'drizzle-orm';
import { requireUser } from '../actor.js';
import { can } from '../can.js';
import type { ActorStore } from '../context.js';
import { getRole } from './roles.js';

/** Returns the names of the roles that the caller starred and can still see, the last starred first. */
export async function listStarredRoles(ctx: ActorStore): Promise<StarredRoles> {
  const { id } = requireUser(ctx);
  const { roles } = ctx.catalog.current();
  const rows = await ctx.db
    .select({ name: starredRoles.role })
    .from(starredRoles)
    .where(eq(starredRoles.userId, id))
    .orderBy(desc(starredRoles.createdAt), starredRoles.role);
  const isSeen = (name: string) => {
    const role = roles.get(name);
    return role !== undefined && can(ctx.actor, 'view', { role });
  };
  return { roles: rows.map(({ name }) => name).filter(isSeen) };
}

/** Stars a role for the caller; starring it again changes nothing. Throws `not_found` for a role that they may not see. */
export async function starRole(ctx: ActorStore, input: { role: string }): Promise<RoleStar> {
  const { id } = requireUser(ctx);
  const { name } = getRole(ctx, input);
  await ctx.db.insert(starredRoles).values({ userId: id, role: name }).onConflictDoNothing();
  return { role: name, starred: true };
}

/** Removes the caller's star from a role, which may have left the configuration. */
export async function unstarRole(ctx: ActorStore, input: { role: string }): Promise<RoleStar> {
  const { id } = requireUser(ctx);
  await ctx.db.delete(starredRoles).where(and(eq(starredRoles.userId, id), eq(starredRoles.role, input.role)));
  return { role: input.role, starred: false };
}
