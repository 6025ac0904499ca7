import { catalogs, type Database } from '@belay/db';
import type { ConnectorRegistry } from '@belay/providers';
import { desc, eq, sql } from 'drizzle-orm';
import type { Breathe } from '../breathe.js';
import { checkAuthenticators } from '../configuration/authenticators.js';
import type { Catalog, CompiledProvider } from '../configuration/catalog.js';
import { compileCatalog } from '../configuration/compile.js';
import { catalogSchema } from '../configuration/schema.js';

/** One value of a document: the entry `name` of a section or, without a name, the section itself. */
type Piece = { section: string; name: string | null; text: string };

/** Reads the document of a stored version entry by entry, so that no long text is parsed without yielding. */
export async function readStoredDocument(
  db: Database,
  version: number,
  breathe: Breathe,
): Promise<Record<string, unknown>> {
  const pieces = await db.execute<Piece>(sql`
    select section.key as section, entry.key as name, coalesce(entry.value, section.value)::text as text
    from ${catalogs}, jsonb_each(${catalogs.document}) section
    left join lateral jsonb_each(case jsonb_typeof(section.value) when 'object' then section.value end) entry on true
    where ${eq(catalogs.version, version)}`);
  const sections = new Map<string, unknown>();
  const entries = new Map<string, [string, unknown][]>();
  for (const { section, name, text } of pieces) {
    const value: unknown = JSON.parse(text);
    const listed = entries.get(section) ?? [];
    entries.set(section, listed);
    if (name === null) sections.set(section, value);
    else listed.push([name, value]);
    await breathe();
  }
  // Defined as own properties: no name in a document can set a prototype.
  return Object.fromEntries(
    [...entries].map(([section, listed]) => [
      section,
      sections.has(section) ? sections.get(section) : Object.fromEntries(listed),
    ]),
  );
}

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
