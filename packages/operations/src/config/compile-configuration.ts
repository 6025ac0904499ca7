import { type Catalog, compileCatalog, type ResolveReference } from '@belay/core';
import { StartError } from '@belay/program';
import { connectors } from '../connectors.js';
import { parseEnvironment } from '../environment.js';
import { openReferences } from '../services.js';
import { ConfigurationError, type ConfigurationFault, explainIssues } from './configuration-error.js';
import { type Configuration, readConfiguration } from './read-configuration.js';
import { createOfflineResolver, type Known } from './resolve-reference.js';

/** One message per fault, each naming file, key or line, and reason. */
export interface Refused {
  ok: false;
  messages: readonly string[];
  /** The same faults in parts; empty when the error is not in the configuration. */
  faults: readonly ConfigurationFault[];
}

/**
 * Reads and compiles a configuration as a start would, without a server or a database, and returns the result of `look`.
 * Secrets are read from the vault that the configuration names; the vault stays open until `look` has ended.
 */
export async function compileConfiguration<Found extends { ok: true }>(
  path: string,
  variables: Record<string, string | undefined>,
  look: (catalog: Catalog, configuration: Configuration) => Found | Promise<Found>,
): Promise<Found | Refused> {
  return unlessRefused(async () => {
    const configuration = await readConfiguration(path);
    const references = openReferences({ environment: parseEnvironment(variables), variables });
    try {
      const resolve = await references.prepare(configuration.document);
      return await look(await compile(configuration, resolve), configuration);
    } finally {
      await references.close();
    }
  });
}

/**
 * Does the same for a configuration that may come from a stranger. Opens no vault, so that no address in the configuration
 * is called. A stand-in is a text and never the name of a file (decision 0021).
 */
export function compileOffline<Found extends { ok: true }>(
  path: string,
  known: Known,
  look: (catalog: Catalog) => Found | Promise<Found>,
): Promise<Found | Refused> {
  return unlessRefused(async () => {
    const configuration = await readConfiguration(path);
    return look(await compile(configuration, createOfflineResolver(configuration.document, known)));
  });
}

async function compile(configuration: Configuration, resolve: ResolveReference): Promise<Catalog> {
  const result = await compileCatalog(configuration.document, { connectors, resolve });
  if (!result.ok) throw new ConfigurationError(await explainIssues(result.issues, configuration));
  return result.catalog;
}

async function unlessRefused<Found extends { ok: true }>(find: () => Promise<Found>): Promise<Found | Refused> {
  try {
    return await find();
  } catch (error) {
    if (error instanceof ConfigurationError) return { ok: false, messages: error.messages, faults: error.faults };
    if (error instanceof StartError) return { ok: false, messages: [error.message], faults: [] };
    throw error;
  }
}
