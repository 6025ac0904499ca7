import { requireUser } from '../actor.js';
import type { ActorContext } from '../context.js';

/** Returns who the caller is. */
export async function readWhoami(
  ctx: ActorContext,
): Promise<{ id: string; email: string; name: string; groups: string[]; provider: string }> {
  const { id, email, name, groups, provider } = requireUser(ctx);
  return { id, email, name, groups, provider };
}
