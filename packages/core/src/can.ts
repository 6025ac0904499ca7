import type { Audience } from '@belay/contract/roles';
import { isSameAddress } from '@belay/providers/address';
import type { CompiledProvider, CompiledRole, CompiledWorkflow } from './configuration/compile.js';
import type { Actor } from './context.js';

interface Somebody {
  email: string;
  groups: readonly string[];
}

/** Whether an audience names somebody. One that names nobody at all is everyone who is signed in (docs/architecture.md, section 11). */
export function isInAudience(somebody: Somebody, audience: Audience | undefined): boolean {
  if (!audience || (audience.users === undefined && audience.groups === undefined)) return true;
  return isNamed(somebody, audience);
}

/** Whether an audience names somebody expressly: the rule for approvers and delegates, where silence is refusal. */
export function isNamed(somebody: Somebody, audience: Audience): boolean {
  if (audience.users?.some((user) => isSameAddress(user, somebody.email))) return true;
  return audience.groups?.some((group) => somebody.groups.includes(group)) ?? false;
}

export type Thing =
  | { provider: CompiledProvider }
  | { role: CompiledRole }
  | { workflow: CompiledWorkflow; roles: Iterable<CompiledRole> };

/**
 * Visibility and the right to ask, in one place (docs/architecture.md, section 9): lists filter with it, details answer "not found" when it
 * says no. A workflow is visible to whoever may ask for a role that uses it.
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
