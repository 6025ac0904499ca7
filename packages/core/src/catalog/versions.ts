import type { ConfigurationChange, ConfigurationDiff, ConfigurationVersions } from '@belay/contract/admin';
import { invalid, notFound } from '@belay/contract/errors';
import { limits } from '@belay/contract/limits';
import type { PageOf } from '@belay/contract/paging';
import { catalogs } from '@belay/db';
import { desc, eq, lt, type SQL, sql } from 'drizzle-orm';
import { versionText } from '../configuration/catalog.js';
import { compareEntries } from '../configuration/compare.js';
import type { ActorStore, Store } from '../context.js';
import { requireOverseer } from '../people/oversight.js';

/** The longest page, and the most entries and changes of one comparison. */
const most = { entries: 500, changes: 1_000 };

/** Everything of a version but its document, which can be long. */
const columns = {
  version: catalogs.version,
  appliedAt: catalogs.appliedAt,
  source: catalogs.source,
  digest: catalogs.digest,
};
type Row = { version: number; appliedAt: Date; source: string; digest: string };

/**
 * Returns the versions of the configuration, newest first (GET /admin/configuration). Throws `forbidden` and `invalid`.
 */
export async function listConfigurations(ctx: ActorStore, input: PageOf): Promise<ConfigurationVersions> {
  requireOverseer(ctx);
  const limit = Math.min(input.limit ?? limits.page, limits.page);
  const before = input.cursor === undefined ? undefined : readVersion(input.cursor, 'cursor');
  const rows = await ctx.db
    .select(columns)
    .from(catalogs)
    .where(before === undefined ? undefined : lt(catalogs.version, before))
    .orderBy(desc(catalogs.version))
    .limit(limit + 1);
  const shown = rows.slice(0, limit).map(describe);
  return { versions: shown, next: rows.length > limit ? (shown.at(-1)?.version ?? null) : null };
}

/**
 * Returns how a version of the configuration differs from another, or from the one before it (GET
 * /admin/configuration/{version}). Only entries that differ are read, and at most 1,000 changes are listed. Values
 * that may be secret are hidden. Throws `forbidden`, `invalid` and `not_found`.
 */
export async function compareConfigurations(
  ctx: ActorStore,
  input: { version: string; from?: string | undefined },
): Promise<ConfigurationDiff> {
  requireOverseer(ctx);
  const to = await find(ctx, readVersion(input.version, 'version'));
  const wanted = input.from === undefined ? to.version - 1 : readVersion(input.from, 'from');
  // The first version has no version before it.
  const from = input.from === undefined && wanted < 1 ? null : await find(ctx, wanted);
  const [changed, sections] = await Promise.all([
    readChanged(ctx, from?.version ?? 0, to.version),
    countChanged(ctx, from?.version ?? 0, to.version),
  ]);
  const changes: ConfigurationChange[] = [];
  let truncated = changed.length > most.entries;
  for (const [index, { section, name, before, after }] of changed.slice(0, most.entries).entries()) {
    // Other requests are served between the entries of a long comparison.
    if (index % 20 === 19) await ctx.delay(0);
    const path = name === null ? [section] : [section, name];
    for (const change of compareEntries(parse(before), parse(after), path)) {
      if (changes.length < most.changes) changes.push(change);
      else truncated = true;
      if (truncated && changes.length >= most.changes) break;
    }
  }
  return { from: from && describe(from), to: describe(to), sections, changes, truncated };
}

function readVersion(text: string, path: string): number {
  const [, version] = /^1\.0\.(\d{1,9})$/.exec(text) ?? [];
  if (version === undefined) throw invalid(path, 'is not a version of the configuration, for example 1.0.12');
  return Number(version);
}

async function find(ctx: Store, version: number): Promise<Row> {
  const [row] = await ctx.db.select(columns).from(catalogs).where(eq(catalogs.version, version));
  if (!row) throw notFound(`The version ${versionText(version)} of the configuration`);
  return row;
}

/** An entry of a section that differs, or a whole section that has no entries; as text, and null when it is missing. */
type Changed = { section: string; name: string | null; before: string | null; after: string | null };

/** Returns the query of the entries that differ between two documents, compared in the database so that only these are read. */
function changedBetween(from: number, to: number): SQL {
  const entries = (version: number) => sql`
    select section.key as section, entry.key as name, coalesce(entry.value, section.value) as value
    from ${catalogs}, jsonb_each(${catalogs.document}) section
    left join lateral jsonb_each(case jsonb_typeof(section.value) when 'object' then section.value end) entry on true
    where ${eq(catalogs.version, version)}`;
  return sql`
    with before as (${entries(from)}), after as (${entries(to)})
    select coalesce(before.section, after.section) as section, coalesce(before.name, after.name) as name,
      before.value as before, after.value as after
    from before full join after
      on before.section = after.section and coalesce(before.name, '') = coalesce(after.name, '')
    where before.value is distinct from after.value
      -- A section without entries is no change of its own.
      and coalesce(before.value, '{}') is distinct from coalesce(after.value, '{}')`;
}

async function readChanged(ctx: Store, from: number, to: number): Promise<Changed[]> {
  const rows = await ctx.db.execute<Changed>(sql`
    select section, name, before::text, after::text from (${changedBetween(from, to)}) changed
    order by 1, 2 limit ${most.entries + 1}`);
  return [...rows];
}

/** Returns how many entries of each section differ. The database compares the values and returns none of them. */
async function countChanged(ctx: Store, from: number, to: number): Promise<ConfigurationDiff['sections']> {
  const rows = await ctx.db.execute<ConfigurationDiff['sections'][number]>(sql`
    select section, count(*) filter (where before is null)::int as added, count(*) filter (where after is null)::int as removed,
      count(*) filter (where before is not null and after is not null)::int as changed
    from (${changedBetween(from, to)}) changed group by section order by section`);
  return rows.map(({ section, added, removed, changed }) => ({ section, added, removed, changed }));
}

function parse(text: string | null): unknown {
  return text === null ? undefined : (JSON.parse(text) as unknown);
}

function describe({ version, appliedAt, source, digest }: Row): ConfigurationDiff['to'] {
  return { version: versionText(version), applied_at: appliedAt.toISOString(), source, digest };
}
