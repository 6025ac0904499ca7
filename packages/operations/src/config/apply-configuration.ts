import { AccessError } from '@belay/contract/errors';
import { applyCatalog, type Breathe } from '@belay/core';
import type { Database } from '@belay/db';
import type { ConnectorRegistry } from '@belay/providers';
import { ConfigurationError, describeFault, explainIssues } from './configuration-error.js';
import type { Configuration } from './read-configuration.js';
import type { References } from './resolve-reference.js';

export interface ApplyOptions {
  db: Database;
  connectors: ConnectorRegistry;
  references: Pick<References, 'prepare'>;
  /** Yields to the event loop while a long configuration is compiled. */
  breathe?: Breathe;
  /** The name of the configuration in the ledger; its path by default. */
  source?: string;
}

/**
 * Puts a configuration in force as one new version. Changes nothing when it is already in force. Throws
 * `ConfigurationError`, whose messages name file, key and reason, and then puts no part of it in force. Warnings are
 * those of the catalog; `belay validate` reports more.
 */
export async function applyConfiguration(
  configuration: Configuration,
  options: ApplyOptions,
): Promise<{ version: number; applied: boolean; warnings: readonly string[] }> {
  const { db, connectors, references, breathe, source = configuration.source } = options;
  const resolve = await references.prepare(configuration.document);
  try {
    const input = { document: configuration.document, source };
    const { version, applied, warnings } = await applyCatalog(db, input, { connectors, resolve, breathe });
    return { version, applied, warnings: (await explainIssues(warnings, configuration)).map(describeFault) };
  } catch (error) {
    if (!(error instanceof AccessError) || error.code !== 'invalid') throw error;
    throw new ConfigurationError(
      await explainIssues(error.issues ?? [{ path: '', message: error.message }], configuration),
    );
  }
}
