import { findDisabledWorkflows, findLiteralSecrets } from '@belay/core';
import { compileConfiguration, type Refused } from './compile-configuration.js';
import { type ConfigurationFault, describeFault, explainIssues } from './configuration-error.js';

export type Validation =
  | {
      ok: true;
      files: string[];
      providers: number;
      roles: number;
      workflows: number;
      /** What should be changed, but does not prevent a start: one message each, naming file, key and reason. */
      warnings: readonly string[];
      /** The same warnings in parts. */
      faults: readonly ConfigurationFault[];
    }
  | Refused;

/**
 * Returns the errors that a start would report for a configuration, and its warnings, without a server or a database
 * (`belay validate`). Secrets are read from the vault that the configuration names, to check that they exist.
 */
export function validateConfiguration(
  path: string,
  variables: Record<string, string | undefined>,
): Promise<Validation> {
  return compileConfiguration(path, variables, async (catalog, configuration) => {
    const { document, files } = configuration;
    const found = [...catalog.warnings, ...findLiteralSecrets(document), ...findDisabledWorkflows(catalog)];
    const faults = await explainIssues(found, configuration);
    return {
      ok: true,
      files,
      providers: catalog.providers.size,
      roles: catalog.roles.size,
      workflows: catalog.workflows.size,
      warnings: faults.map(describeFault),
      faults,
    };
  });
}
