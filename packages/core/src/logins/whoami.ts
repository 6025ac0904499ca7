import { requireUser } from '../actor.js';
import type { ActorStore } from '../context.js';
import { type Oversight, oversightOf } from '../people/oversight.js';

/** Returns who the caller is, and what they oversee. */
export async function readWhoami(ctx: ActorStore): Promise<{
  id: string;
  email: string;
  name: string;
  groups: string[];
  provider: string;
  oversight?: Oversight;
}> {
  const user = requireUser(ctx);
  const { id, email, name, groups, provider } = user;
  const oversight = oversightOf(ctx, user);
  return { id, email, name, groups, provider, ...(oversight ? { oversight } : {}) };
}
