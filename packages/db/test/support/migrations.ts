import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

interface Entry {
  idx: number;
  version: string;
  when: number;
  tag: string;
  breakpoints: boolean;
}

const shipped = new URL('../../drizzle/', import.meta.url);
/** The migrations of Belay, in order. */
export const journal = JSON.parse(readFileSync(new URL('meta/_journal.json', shipped), 'utf8')) as {
  entries: [Entry, ...Entry[]];
};
export const first = journal.entries[0];

export interface Migrations extends AsyncDisposable {
  folder: URL;
  /** The rows of the table of migrations after all of them. */
  rows: { hash: string; created_at: string }[];
}

/** Returns a folder with the first migration of Belay and, an hour after each other, later ones with these statements. Disposing removes it. */
export async function makeMigrations(...later: string[]): Promise<Migrations> {
  const path = await mkdtemp(join(tmpdir(), 'belay-migrations-'));
  const file = (tag: string) => join(path, `${tag}.sql`);
  const entries = [first, ...later].map((_, idx) => ({
    ...first,
    idx,
    when: first.when + idx * 3_600_000,
    tag: idx === 0 ? first.tag : `000${idx}_later`,
  }));
  await cp(new URL(`${first.tag}.sql`, shipped), file(first.tag));
  for (const [index, sql] of later.entries()) await writeFile(file(entries[index + 1]?.tag ?? ''), sql);
  await mkdir(join(path, 'meta'));
  await writeFile(join(path, 'meta/_journal.json'), JSON.stringify({ ...journal, entries }));
  return {
    folder: pathToFileURL(`${path}/`),
    rows: entries.map(({ tag, when }) => ({
      hash: createHash('sha256')
        .update(readFileSync(file(tag)))
        .digest('hex'),
      created_at: String(when),
    })),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}
