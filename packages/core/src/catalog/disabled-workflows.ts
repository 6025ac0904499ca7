import type { ErrorIssue } from '@belay/contract/errors';
import type { Catalog } from '../configuration/catalog.js';

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
