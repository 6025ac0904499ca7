import { readdir, readFile } from 'node:fs/promises';
import { createTestDatabase } from '@belay/testkit/database';
import { expect, it } from 'vitest';

const sourceOf = (path: string) => readFile(new URL(path, import.meta.url), 'utf8');
const typesIn = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].flatMap(([, type]) => type ?? []);
/** A type and its level, as entries that SQL writes have them. */
const written = /'([a-z]+\.[a-z_.]+)'(?:, '(?:info|warning|error)'|`,\n\s+message: sqlText)/g;

it('knows every type of entry that SQL writes to the ledger', async () => {
  await using database = await createTestDatabase();
  const triggers = await database.sql<{ source: string }[]>`
    select prosrc as source from pg_proc where prosrc like '%insert into ledger%'`;
  const files = (await readdir(new URL('../src', import.meta.url), { recursive: true })).filter((name) =>
    name.endsWith('.ts'),
  );
  const texts = await Promise.all(files.map((name) => sourceOf(`../src/${name}`)));
  const found = [...texts, ...triggers.map(({ source }) => source)].flatMap((text) => typesIn(text, written));
  expect(found).toEqual(expect.arrayContaining(['entitlement.granted', 'entitlement.revoked', 'review.opened']));
  const known = typesIn(await sourceOf('../../contract/src/event-types.ts'), /\| '([^']+)'/g);
  expect(found.filter((type) => !known.includes(type))).toEqual([]);
});
