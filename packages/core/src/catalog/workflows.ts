import { notFound } from '@belay/contract/errors';
import type { Workflow, WorkflowSummary } from '@belay/contract/workflows';
import type { Json } from '@belay/workflow';
import { can } from '../can.js';
import type { CompiledWorkflow } from '../configuration/catalog.js';
import { versionText } from '../configuration/compile.js';
import type { ActorStore } from '../context.js';
import { rolesConcerning } from './audiences.js';

/** Returns the enabled workflows that the caller may see, keyed by name (GET /workflows). */
export function listWorkflows(ctx: ActorStore) {
  const catalog = ctx.catalog.current();
  const roles = rolesConcerning(ctx.actor, catalog);
  const visible = [...catalog.workflows.values()].filter((workflow) => can(ctx.actor, 'view', { workflow, roles }));
  return {
    version: versionText(catalog.version),
    workflows: Object.fromEntries(visible.map((workflow) => [workflow.name, summarise(workflow)])),
  };
}

/**
 * Returns one workflow with its definition (GET /workflow/{name}); throws `not_found` for one that the caller may not
 * see.
 */
export function getWorkflow(ctx: ActorStore, input: { name: string }): Workflow {
  const catalog = ctx.catalog.current();
  const workflow = catalog.workflows.get(input.name);
  if (!workflow || !can(ctx.actor, 'view', { workflow, roles: rolesConcerning(ctx.actor, catalog) })) {
    throw notFound(`Workflow ${input.name}`);
  }
  const { dsl, namespace, name, version } = workflow.workflow.document;
  const tasks = workflow.definition.workflow.do;
  return {
    ...summarise(workflow),
    document: { dsl, namespace, name, version, do: Array.isArray(tasks) ? (tasks as Json[]) : [] },
  };
}

function summarise(workflow: CompiledWorkflow): WorkflowSummary {
  const { definition, name, enabled } = workflow;
  return { name, description: definition.description, enabled };
}
