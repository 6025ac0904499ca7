import { catalogs, type Database } from '@belay/db';
import type { ConnectorRegistry } from '@belay/providers';
import { desc } from 'drizzle-orm';
import { checkAuthenticators } from './authenticators.js';
import type { Catalog, CompiledProvider } from './catalog.js';
import { compileCatalog } from './compile.js';
import { catalogSchema } from './schema.js';

/**
 * Returns the definitions of the providers in force, for commands that run without secrets: no provider has a
 * configuration or a client, and there are no roles and workflows. An installation without a configuration has no
 * providers.
 */
export async function readDefinitions(db: Database, connectors: ConnectorRegistry): Promise<Catalog> {
  const [latest] = await db.select().from(catalogs).orderBy(desc(catalogs.version)).limit(1);
  const document = catalogSchema.parse(latest?.document ?? {});
  const providers = new Map<string, CompiledProvider>();
  for (const [id, definition] of Object.entries(document.providers)) {
    const connector = connectors.get(definition.provider);
    if (!connector) continue;
    const { enabled } = definition;
    const capabilities = new Set(definition.capabilities ?? connector.capabilities);
    providers.set(id, { id, definition, enabled, connector, capabilities, config: undefined, maxDuration: undefined });
  }
  const nothing = await compileCatalog({}, { connectors, resolve: () => undefined });
  if (!nothing.ok) throw new Error('The empty configuration must compile');
  const { version = 0, digest = '' } = latest ?? {};
  return { ...nothing.catalog, version, digest, document, providers, ...checkAuthenticators(providers, []) };
}
