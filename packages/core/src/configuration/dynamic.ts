import type { ErrorIssue } from '@belay/contract/errors';
import type { AccessRequest } from '@belay/providers';
import { readDuration } from '../duration.js';
import { timing } from '../timing.js';
import type { CompiledBounds, CompiledProvider, CompiledWorkflow } from './catalog.js';
import { unknownName } from './issue.js';
import type { DynamicDefinition } from './schema.js';

interface Surroundings {
  providers: ReadonlyMap<string, CompiledProvider>;
  workflows: ReadonlyMap<string, CompiledWorkflow>;
  serverMaximum: number;
}

/**
 * Returns the bounds of every provider that has some. Adds an issue for bounds that allow nothing, for access that the
 * provider's connector cannot grant, and for an unknown workflow or a duration that is not valid.
 */
export function compileDynamic(
  { providers, workflows, serverMaximum }: Surroundings,
  issues: ErrorIssue[],
): Map<string, CompiledBounds> {
  const compiled = new Map<string, CompiledBounds>();
  for (const [id, provider] of providers) {
    const definition = provider.definition.dynamic;
    if (!definition) continue;
    const path = `providers.${id}.dynamic`;
    checkWorkflows(definition, workflows, path, issues);
    checkGrantable(provider, definition, path, issues);
    const maxDuration = Math.min(
      readDuration(definition.max_duration, `${path}.max_duration`, issues) ?? serverMaximum,
      serverMaximum,
      provider.maxDuration ?? serverMaximum,
    );
    const defaultDuration =
      readDuration(definition.default_duration, `${path}.default_duration`, issues) ??
      Math.min(timing.defaultDuration, maxDuration);
    if (defaultDuration > maxDuration) {
      issues.push({ path: `${path}.default_duration`, message: 'is longer than the longest duration allowed' });
    }
    const { permissions, resources, groups, requesters, delegates, authenticators } = definition;
    compiled.set(id, {
      permissions,
      resources,
      groups,
      workflows: definition.workflows,
      requesters,
      delegates,
      authenticators,
      maxDuration,
      defaultDuration,
    });
  }
  return compiled;
}

function checkWorkflows(
  definition: DynamicDefinition,
  workflows: ReadonlyMap<string, CompiledWorkflow>,
  path: string,
  issues: ErrorIssue[],
): void {
  definition.workflows.forEach((name, index) => {
    if (workflows.has(name)) return;
    const message = `there is no valid workflow "${name}"`;
    issues.push(unknownName(`${path}.workflows[${index}]`, message, name, () => workflows.keys()));
  });
}

/** Checks that the connector can plan what the bounds name: as written, or with a sample in place of each `*`. */
function checkGrantable(
  provider: CompiledProvider,
  definition: DynamicDefinition,
  path: string,
  issues: ErrorIssue[],
): void {
  const { connector, config } = provider;
  if (!connector.plan || !provider.capabilities.has('authorizer')) {
    issues.push({ path, message: `"${provider.id}" cannot grant access: its provider type has no authorizer` });
    return;
  }
  if (definition.permissions.allow.length + definition.groups.allow.length === 0) {
    issues.push({ path, message: 'must allow permissions or groups' });
    return;
  }
  if (config === undefined) return;
  const sample = (names: readonly string[]) => names.map((name) => name.replaceAll('*', 'x'));
  const literal = connector.plan(
    config,
    requestOf(definition, (names) => [...names]),
  );
  const plan = literal.ok ? literal : connector.plan(config, requestOf(definition, sample));
  if (plan.ok && plan.accesses.length > 0) return;
  const found = plan.ok
    ? [{ path: 'groups.allow', message: 'must allow at least one group that grants access' }]
    : plan.issues;
  for (const issue of found) {
    issues.push({ path: `${path}.${issue.path.replace(/^inherits/, 'groups.allow')}`, message: issue.message });
  }
}

function requestOf(definition: DynamicDefinition, names: (given: readonly string[]) => string[]): AccessRequest {
  const { permissions, resources, groups } = definition;
  // Belay itself rejects what the bounds deny: no connector has to.
  return {
    roles: names(groups.allow),
    permissions: { allow: names(permissions.allow), deny: [] },
    resources: { allow: names(resources.allow), deny: [] },
  };
}
