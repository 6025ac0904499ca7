import { requireUser } from '../actor.js';
import type { ActorStore } from '../context.js';

/** Returns who the caller is. */
export async function readWhoami(
  ctx: ActorStore,
): Promise<{ id: string; email: string; name: string; groups: string[]; provider: string }> {
  const { id, email, name, groups, provider } = requireUser(ctx);
  return { id, email, name, groups, provider };
}
