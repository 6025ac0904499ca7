import { compileCatalog } from '@belay/core';
import { connectors } from '../connectors.js';
import { ConfigurationError, explainIssues } from './configuration-error.js';
import { readConfiguration } from './read-configuration.js';
import type { ResolveReference } from './resolve-reference.js';

export type Validation =
  | { ok: true; files: string[]; providers: number; roles: number; workflows: number }
  /** One message per fault, each naming file, key or line, and reason. */
  | { ok: false; messages: readonly string[] };

/** Says what a start with this configuration would say about it, without a server or a database (`belay validate`). */
export async function validateConfiguration(path: string, resolve: ResolveReference): Promise<Validation> {
  try {
    const configuration = await readConfiguration(path);
    const result = compileCatalog(configuration.document, { connectors, resolve });
    if (!result.ok) return { ok: false, messages: explainIssues(result.issues, configuration.locate) };
    const { providers, roles, workflows } = result.catalog;
    return {
      ok: true,
      files: configuration.files,
      providers: providers.size,
      roles: roles.size,
      workflows: workflows.size,
    };
  } catch (error) {
    if (error instanceof ConfigurationError) return { ok: false, messages: error.messages };
    throw error;
  }
}
