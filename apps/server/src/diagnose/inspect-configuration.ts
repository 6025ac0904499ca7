import { compileCatalog } from '@belay/core';
import { ConfigurationError, explainIssues } from '../config/configuration-error.js';
import { readConfiguration } from '../config/read-configuration.js';
import { connectors } from '../connectors.js';
import { parseEnvironment } from '../env.js';
import { openReferences } from '../services.js';
import { oneLine, StartError } from '../start-error.js';

export interface ProviderInspection {
  provider: string;
  type: string;
  /** Why it does not answer, fit for an operator; undefined when it does. */
  fault: string | undefined;
}

export type ConfigurationInspection =
  | { ok: true; callbacks: readonly string[]; providers: ProviderInspection[] }
  /** One message per fault, each naming file, key or line, and reason. */
  | { ok: false; messages: readonly string[] };

/**
 * Reads a configuration as a start would, and asks every provider in it that is switched on whether it answers (`belay
 * doctor`). Nothing is stored, granted or taken away. `patience` bounds each question, in milliseconds.
 */
export async function inspectConfiguration(
  path: string,
  variables: Record<string, string | undefined>,
  patience: number,
): Promise<ConfigurationInspection> {
  try {
    const configuration = await readConfiguration(path);
    const references = openReferences({ environment: parseEnvironment(variables), variables });
    try {
      const resolve = await references.prepare(configuration.document);
      const result = compileCatalog(configuration.document, { connectors, resolve });
      if (!result.ok) return { ok: false, messages: explainIssues(result.issues, configuration.locate) };
      const { callbacks, providers } = result.catalog;
      const inspections = [...providers.values()]
        .filter(({ config }) => config !== undefined)
        .map(async ({ id, connector, config }) => ({
          provider: id,
          type: connector.type,
          fault: await findFault(() => connector.create(config, { log: () => {} }), patience),
        }));
      return { ok: true, callbacks, providers: await Promise.all(inspections) };
    } finally {
      await references.close();
    }
  } catch (error) {
    if (error instanceof ConfigurationError) return { ok: false, messages: error.messages };
    if (error instanceof StartError) return { ok: false, messages: [error.message] };
    throw error;
  }
}

interface Checkable {
  check(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

async function findFault(open: () => Checkable, patience: number): Promise<string | undefined> {
  let client: Checkable | undefined;
  try {
    client = open();
    await client.check(AbortSignal.timeout(patience));
    return undefined;
  } catch (error) {
    return oneLine(error);
  } finally {
    await client?.close().catch(() => undefined);
  }
}
