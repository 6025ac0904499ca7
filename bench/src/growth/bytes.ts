import type { Database } from '@belay/db';
import { sql } from 'drizzle-orm';
import { elevations } from '../belay/elevate.js';
import { openBench } from '../setup.js';

export interface Bytes {
  /** What one elevation adds to all tables and their indexes. */
  each: number;
  /** The same, by table; tables that do not grow are left out. */
  tables: { name: string; each: number }[];
}

/**
 * Measures what elevations (requested, granted, given back, gone; without watchers) add permanently: the sizes of all tables and
 * indexes before and after `count` of them, each time without the space of deleted rows (`vacuum full`).
 */
export async function measureBytes({ count, people = 48 }: { count: number; people?: number }): Promise<Bytes> {
  const belay = await openBench({ people });
  const elevate = elevations(belay);
  const several = async () => {
    let left = count;
    await Promise.all(
      belay.people.map(async (person) => {
        for (; left > 0; ) {
          left -= 1;
          await elevate(person, 'grant');
        }
      }),
    );
  };
  // The first elevations do not count, because they make rows that are only made once for a person.
  await several();
  const before = await sizes(belay.ctx.db);
  await several();
  const after = await sizes(belay.ctx.db);
  await belay.close();
  const tables = [...after]
    .map(([name, size]) => ({ name, each: (size - (before.get(name) ?? 0)) / count }))
    .filter(({ each }) => each > 0)
    .sort((a, b) => b.each - a.each);
  return { each: tables.reduce((sum, { each }) => sum + each, 0), tables };
}

async function sizes(db: Database): Promise<Map<string, number>> {
  await db.execute(sql.raw('vacuum full'));
  const rows = await db.execute<{ name: string; size: string }>(
    sql`select relname as name, pg_total_relation_size(oid) as size from pg_class
      where relkind = 'r' and relnamespace in ('public'::regnamespace, to_regnamespace('bullmq'))`,
  );
  return new Map(rows.map(({ name, size }) => [name, Number(size)]));
}
