import { catalogs, type Database } from '@belay/db';
import { eq, sql } from 'drizzle-orm';
import type { Breathe } from '../breathe.js';

/** One value of a document: that of `name` in a section or, without a name, the section itself. */
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
