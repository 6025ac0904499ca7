import { compileCatalog, findLiteralSecrets } from '@belay/core';
import { connectors } from '../connectors.js';
import { parseEnvironment } from '../env.js';
import { openReferences } from '../services.js';
import { StartError } from '../start-error.js';
import { ConfigurationError, explainIssues } from './configuration-error.js';
import { readConfiguration } from './read-configuration.js';

export type Validation =
  | {
      ok: true;
      files: string[];
      providers: number;
      roles: number;
      workflows: number;
      /** What is no fault and should not stay so: one message each, naming file, key and reason. */
      warnings: readonly string[];
    }
  /** One message per fault, each naming file, key or line, and reason. */
  | { ok: false; messages: readonly string[] };

/**
 * Says what a start with this configuration would say about it, without a server or a database (`belay validate`).
 * Secrets that it refers to are read from the vault that it names, to see that they are there.
 */
export async function validateConfiguration(
  path: string,
  variables: Record<string, string | undefined>,
): Promise<Validation> {
  try {
    const configuration = await readConfiguration(path);
    const references = openReferences({ environment: parseEnvironment(variables), variables });
    try {
      const resolve = await references.prepare(configuration.document);
      const result = compileCatalog(configuration.document, { connectors, resolve });
      if (!result.ok) return { ok: false, messages: explainIssues(result.issues, configuration.locate) };
      const { providers, roles, workflows } = result.catalog;
      return {
        ok: true,
        files: configuration.files,
        providers: providers.size,
        roles: roles.size,
        workflows: workflows.size,
        warnings: explainIssues(findLiteralSecrets(configuration.document), configuration.locate),
      };
    } finally {
      await references.close();
    }
  } catch (error) {
    if (error instanceof ConfigurationError) return { ok: false, messages: error.messages };
    if (error instanceof StartError) return { ok: false, messages: [error.message] };
    throw error;
  }
}
