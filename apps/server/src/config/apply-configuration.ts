import { AccessError, applyCatalog } from '@belay/core';
import type { Database } from '@belay/db';
import type { ConnectorRegistry } from '@belay/providers';
import { ConfigurationError, explainIssues } from './configuration-error.js';
import type { Configuration } from './read-configuration.js';
import type { ResolveReference } from './resolve-reference.js';

export interface ApplyOptions {
  db: Database;
  connectors: ConnectorRegistry;
  resolve: ResolveReference;
  /** What to call the configuration in the ledger, when not by its path. */
  source?: string;
}

/**
 * Puts a configuration in force as one new version, or refuses it whole: throws `ConfigurationError`, whose messages
 * name file, key and reason. The configuration that is in force already changes nothing.
 */
export async function applyConfiguration(
  configuration: Configuration,
  options: ApplyOptions,
): Promise<{ version: number; applied: boolean }> {
  const { db, connectors, resolve, source = configuration.source } = options;
  try {
    return await applyCatalog(db, { document: configuration.document, source }, { connectors, resolve });
  } catch (error) {
    if (!(error instanceof AccessError) || error.code !== 'invalid') throw error;
    throw new ConfigurationError(
      explainIssues(error.issues ?? [{ path: '', message: error.message }], configuration.locate),
    );
  }
}
