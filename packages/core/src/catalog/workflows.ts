import { type ErrorIssue, notFound } from '@belay/contract/errors';
import type { Workflow, WorkflowSummary } from '@belay/contract/workflows';
import type { Json } from '@belay/workflow';
import { can } from '../can.js';
import type { Catalog, CompiledWorkflow } from '../configuration/catalog.js';
import { versionText } from '../configuration/compile.js';
import { withoutCredentials } from '../configuration/credentials.js';
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
 * Returns one workflow with its definition (GET /workflow/{name}), without the credentials of its calls; throws `not_found` for one
 * that the caller may not see.
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
    document: { dsl, namespace, name, version, do: Array.isArray(tasks) ? withoutCredentials(tasks as Json[]) : [] },
  };
}

function summarise(workflow: CompiledWorkflow): WorkflowSummary {
  const { definition, name, enabled } = workflow;
  return { name, description: definition.description, enabled };
}

/**
 * Returns where roles and bounds name a disabled workflow. For a warning: the configuration is valid, and a request
 * through that workflow is rejected until it is enabled again.
 */
export function findDisabledWorkflows({ roles, providers, workflows }: Omit<Catalog, 'version'>): ErrorIssue[] {
  const issues = (names: readonly string[], path: string, through: string): ErrorIssue[] =>
    names.flatMap((name, index) =>
      workflows.get(name)?.enabled === false
        ? [
            {
              path: `${path}.workflows[${index}]`,
              message: `the workflow "${name}" is disabled: ${through} cannot be requested through it`,
            },
          ]
        : [],
    );
  return [
    ...[...roles.values()].flatMap((role) =>
      role.enabled ? issues(role.workflows, `roles.${role.name}`, 'the role') : [],
    ),
    ...[...providers.values()].flatMap(({ id, enabled, definition }) =>
      enabled ? issues(definition.dynamic?.workflows ?? [], `providers.${id}.dynamic`, 'access') : [],
    ),
  ];
}
