import type { Catalog, CompiledRole, CompiledWorkflow } from '../catalog/compile.js';
import { describeRole } from '../catalog/roles.js';

/** The interface's Role, with what a person reads about it beside; what it comes to at a provider stays here. */
export interface RoleForAgents {
  name: string;
  description: string;
  providers: string[];
  workflows: string[];
  enabled: boolean;
  permissions?: { users?: string[]; groups?: string[] };
  /** ISO 8601. */
  max_duration: string;
  default_duration: string;
}

/** A task by its name: what it does, what it calls, and the tasks within. Nothing that an author wrote into it. */
export type Step = { name: string; task: string; call?: string; steps?: Step[] };

export interface Definitions {
  roles: { definitions: Record<string, RoleForAgents> };
  providers: { definitions: Record<string, { name: string; provider: string }> };
  workflows: { definitions: Record<string, { name: string; steps: Step[] }> };
}

/**
 * The configuration as agents get it (interface, POST /register): every enabled definition, built from the fields that are
 * listed here and no others, so that no connector's configuration, reference or token can be among them.
 */
export function describeDefinitions(catalog: Catalog): Definitions {
  const enabled = <T extends { enabled: boolean }>(things: ReadonlyMap<string, T>) =>
    [...things].filter(([, thing]) => thing.enabled);
  return {
    roles: { definitions: Object.fromEntries(enabled(catalog.roles).map(([name, role]) => [name, describe(role)])) },
    providers: {
      definitions: Object.fromEntries(
        enabled(catalog.providers).map(([id, { definition }]) => [
          id,
          { name: plain(definition.name ?? id), provider: definition.provider },
        ]),
      ),
    },
    workflows: {
      definitions: Object.fromEntries(
        enabled(catalog.workflows).map(([name, workflow]) => [name, { name, steps: stepsOf(workflow) }]),
      ),
    },
  };
}

function describe(role: CompiledRole): RoleForAgents {
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
  };
}

/** A reference that somebody wrote where none is resolved names a secret all the same. */
function plain(text: string): string {
  return text.replace(/\$\{[^}]*\}/g, '…');
}

/** The keys of the DSL that make a task what it is (DSL reference, Task). */
const kinds = ['call', 'do', 'emit', 'for', 'fork', 'listen', 'raise', 'run', 'set', 'switch', 'try', 'wait'] as const;

function stepsOf(workflow: CompiledWorkflow): Step[] {
  return tasksOf(workflow.definition.workflow.do);
}

function tasksOf(list: unknown): Step[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((item) => (isObject(item) ? Object.entries(item).map(([name, task]) => toStep(name, task)) : []));
}

function toStep(name: string, task: unknown): Step {
  const body = isObject(task) ? task : {};
  // A `for` and a `try` have a `do` beside them, which is theirs.
  const kindOfTask = kinds.find((kind) => kind !== 'do' && kind in body) ?? 'do';
  const { call } = body;
  const fork = isObject(body.fork) ? body.fork.branches : undefined;
  const caught = isObject(body.catch) ? body.catch.do : undefined;
  const steps = [body.do, body.try, caught, fork].flatMap(tasksOf);
  return {
    name,
    task: kindOfTask,
    ...(typeof call === 'string' && /^[A-Za-z0-9._-]{1,100}$/.test(call) ? { call } : {}),
    ...(steps.length > 0 ? { steps } : {}),
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
