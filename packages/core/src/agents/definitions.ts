import type { AgentDefinitions, AgentProvider, AgentRole, WorkflowStep } from '@belay/contract/configuration';
import { describeRole } from '../catalog/roles.js';
import type { Catalog, CompiledProvider, CompiledRole, CompiledWorkflow } from '../configuration/catalog.js';

/**
 * Returns the configuration for agents (POST /register): every enabled definition, built only from the fields that are
 * listed here, so that no connector configuration, reference or token can be included.
 */
export function describeDefinitions(catalog: Catalog): Omit<AgentDefinitions, 'services'> {
  const enabled = <T extends { enabled: boolean }>(things: ReadonlyMap<string, T>) =>
    [...things].filter(([, thing]) => thing.enabled);
  return {
    roles: { definitions: Object.fromEntries(enabled(catalog.roles).map(([name, role]) => [name, describe(role)])) },
    providers: {
      definitions: Object.fromEntries(
        enabled(catalog.providers).map(([id, provider]) => [id, describeProvider(id, provider)]),
      ),
    },
    workflows: {
      definitions: Object.fromEntries(
        enabled(catalog.workflows).map(([name, workflow]) => [
          name,
          { name, description: plain(workflow.definition.description), enabled: true, steps: stepsOf(workflow) },
        ]),
      ),
    },
  };
}

function describe(role: CompiledRole): AgentRole {
  const { name, description, providers, workflows, enabled, permissions, ...more } = describeRole(role);
  return {
    name,
    description: plain(description),
    providers,
    workflows,
    enabled,
    ...(permissions ? { permissions } : {}),
    max_duration: more.max_duration,
    default_duration: more.default_duration,
    reason: more.reason,
  };
}

function describeProvider(id: string, { definition, enabled, capabilities }: CompiledProvider): AgentProvider {
  const { users, groups } = definition.permissions ?? {};
  const audience = { ...(users ? { users } : {}), ...(groups ? { groups } : {}) };
  return {
    name: plain(definition.name ?? id),
    provider: definition.provider,
    description: plain(definition.description),
    enabled,
    capabilities: [...capabilities],
    ...(users || groups ? { permissions: audience } : {}),
  };
}

/** Replaces references with "…": even where they are not resolved, they name a secret. */
function plain(text: string): string {
  return text.replace(/\$\{[^}]*\}/g, '…');
}

/** The keys of the DSL that define the kind of a task (DSL reference, Task). */
const kinds = ['call', 'do', 'emit', 'for', 'fork', 'listen', 'raise', 'run', 'set', 'switch', 'try', 'wait'] as const;

/** Returns every task of a workflow, each before the tasks within it. */
function stepsOf(workflow: CompiledWorkflow): WorkflowStep[] {
  return tasksOf(workflow.definition.workflow.do, '/do');
}

function tasksOf(list: unknown, at: string): WorkflowStep[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((item, index) =>
    isObject(item) ? Object.entries(item).flatMap(([name, task]) => toSteps(name, task, `${at}/${index}/${name}`)) : [],
  );
}

function toSteps(name: string, task: unknown, path: string): WorkflowStep[] {
  const body = isObject(task) ? task : {};
  // A `for` also has a `do`.
  const kindOfTask = kinds.find((kind) => kind !== 'do' && kind in body) ?? 'do';
  const { call } = body;
  const named = typeof call === 'string' && /^[A-Za-z0-9._-]{1,100}$/.test(call) ? { call } : {};
  return [
    { name, path, task: kindOfTask, ...named },
    ...tasksOf(body.do, `${path}/do`),
    ...tasksOf(body.try, `${path}/try`),
    ...(isObject(body.catch) ? tasksOf(body.catch.do, `${path}/catch/do`) : []),
    ...(isObject(body.fork) ? tasksOf(body.fork.branches, `${path}/fork/branches`) : []),
  ];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
