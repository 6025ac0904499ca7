import { isInAudience } from '@belay/contract/audience';
import type { CompiledProvider, CompiledRole, CompiledWorkflow } from './configuration/catalog.js';
import type { Actor } from './context.js';

export type Thing =
  | { provider: CompiledProvider }
  | { role: CompiledRole }
  | { workflow: CompiledWorkflow; roles: Iterable<CompiledRole> };

/**
 * Decides visibility and the right to request, in one place (docs/architecture.md, section 9): lists filter with it,
 * and details are "not found" when it returns false. A workflow is visible to everyone who may request a role that
 * uses it.
 */
export function can(actor: Actor, verb: 'view' | 'request', thing: Thing): boolean {
  if (actor.kind !== 'user') return verb === 'view' && actor.kind === 'operator';
  if ('provider' in thing) return thing.provider.enabled && isInAudience(actor, thing.provider.definition.permissions);
  if ('role' in thing) return thing.role.enabled && isInAudience(actor, thing.role.definition.permissions);
  if (!thing.workflow.enabled) return false;
  for (const role of thing.roles) {
    if (role.workflows.includes(thing.workflow.name) && can(actor, verb, { role })) return true;
  }
  return false;
}
