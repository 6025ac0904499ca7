import { type Catalog, compileCatalog } from '@belay/core';
import { StartError } from '@belay/program';
import { connectors } from '../connectors.js';
import { parseEnvironment } from '../environment.js';
import { openReferences } from '../services.js';
import { ConfigurationError, type ConfigurationFault, explainIssues } from './configuration-error.js';
import { type Configuration, readConfiguration } from './read-configuration.js';

/** One message per fault, each naming file, key or line, and reason. */
export interface Refused {
  ok: false;
  messages: readonly string[];
  /** The same in parts; empty when the configuration is not what is wrong. */
  faults: readonly ConfigurationFault[];
}

/**
 * Reads and compiles a configuration as a start would, without a server or a database, and answers what `look` makes of it.
 * Secrets that it refers to are read from the vault that it names, which stays open for `look`.
 */
export async function compileConfiguration<Found extends { ok: true }>(
  path: string,
  variables: Record<string, string | undefined>,
  look: (catalog: Catalog, configuration: Configuration) => Found | Promise<Found>,
): Promise<Found | Refused> {
  try {
    const configuration = await readConfiguration(path);
    const references = openReferences({ environment: parseEnvironment(variables), variables });
    try {
      const resolve = await references.prepare(configuration.document);
      const result = await compileCatalog(configuration.document, { connectors, resolve });
      if (!result.ok) throw new ConfigurationError(await explainIssues(result.issues, configuration));
      return await look(result.catalog, configuration);
    } finally {
      await references.close();
    }
  } catch (error) {
    if (error instanceof ConfigurationError) return { ok: false, messages: error.messages, faults: error.faults };
    if (error instanceof StartError) return { ok: false, messages: [error.message], faults: [] };
    throw error;
  }
}
