import type postgres from 'postgres';
import { elevations } from '../belay/elevate.js';
import { openBench } from '../setup.js';
import type { Shape } from '../shapes.js';

export interface Bytes {
  /** What one elevation adds to all tables and their indexes. */
  each: number;
  /** The same, by table; tables that do not grow are left out. */
  tables: { name: string; each: number }[];
}

/**
 * Measures what elevations of a shape (given back and gone; without watchers) add permanently: the sizes of all tables and
 * indexes before and after `count` of them, each time without the space of deleted rows (`vacuum full`).
 */
export async function measureBytes({
  shape,
  count,
  people = 48,
}: {
  shape: Shape;
  count: number;
  people?: number;
}): Promise<Bytes> {
  const belay = await openBench({ people });
  const elevate = elevations(belay);
  const several = async () => {
    let left = count;
    await Promise.all(
      belay.people.map(async (person) => {
        for (; left > 0; ) {
          left -= 1;
          await elevate(person, shape);
        }
      }),
    );
  };
  // The first elevations do not count, because they make rows that are only made once for a person.
  await several();
  const before = await sizes(belay.observer);
  await several();
  const after = await sizes(belay.observer);
  await belay.close();
  const tables = [...after]
    .map(([name, size]) => ({ name, each: (size - (before.get(name) ?? 0)) / count }))
    .filter(({ each }) => each > 0)
    .sort((a, b) => b.each - a.each);
  return { each: tables.reduce((sum, { each }) => sum + each, 0), tables };
}

async function sizes(sql: postgres.Sql): Promise<Map<string, number>> {
  await sql`vacuum full`;
  const rows = await sql<{ name: string; size: string }[]>`
    select relname as name, pg_total_relation_size(oid) as size from pg_class
    where relkind = 'r' and relnamespace in ('public'::regnamespace, to_regnamespace('bullmq'))`;
  return new Map(rows.map(({ name, size }) => [name, Number(size)]));
}
