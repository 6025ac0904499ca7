import type { Elevation } from '@belay/contract/elevation';
import { notFound } from '@belay/contract/errors';
import { requireFreshGroups, requireUser } from '../actor.js';
import { can } from '../can.js';
import type { ActorContext } from '../context.js';
import { type RequestTerms, submitRequest } from './submit.js';

/**
 * Starts an execution for a role of the catalog (docs/interface.md, section 3, static request). Throws the errors of
 * `submitRequest`, and `not_found` for a role that the caller may not request.
 */
export async function requestElevation(
  ctx: ActorContext,
  request: RequestTerms & { role: string },
): Promise<Elevation> {
  const user = requireUser(ctx);
  requireFreshGroups(user);
  const catalog = ctx.catalog.current();
  const role = catalog.roles.get(request.role);
  if (!role || !can(user, 'request', { role })) throw notFound(`Role ${request.role}`);
  return submitRequest(ctx, { catalog, user, role, terms: request, request });
}
