import { invalid } from '@belay/contract/errors';
import type { Catalog, CompiledRole } from '../configuration/catalog.js';

/**
 * Throws `invalid` unless a role can be requested through a workflow now: another workflow may have other approvers,
 * so the workflows of a role are one of its bounds. A disabled one is never replaced by the role's next, which may
 * require less.
 */
export function requireWorkflow(catalog: Catalog, role: CompiledRole, name: string): void {
  if (!role.workflows.includes(name)) {
    throw invalid('workflow', `the role "${role.name}" cannot be requested through "${name}"`);
  }
  if (catalog.workflows.get(name)?.enabled) return;
  const others = role.workflows.filter((each) => catalog.workflows.get(each)?.enabled);
  const instead = others.length === 0 ? '' : `; use another one: ${others.join(', ')}`;
  throw invalid('workflow', `the workflow "${name}" is disabled${instead}`);
}
