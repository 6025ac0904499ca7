import { createTestDatabase } from '@belay/testkit/database';
import { expect, it } from 'vitest';
import { createClient } from '../src/connect.js';

const settings = { max: 1, silence: 30_000, backoff: () => 0 };

it('returns the rows of a statement after one that failed at its second row', async () => {
  await using database = await createTestDatabase();
  const sql = createClient(database.url, settings);
  try {
    await expect(sql`select 1 / (2 - i) as n from generate_series(1, 3) i`).rejects.toMatchObject({ code: '22012' });
    expect([...(await sql`select 'first' as row`)]).toEqual([{ row: 'first' }]);
    expect([...(await sql`select ${'first'}::text as row`)]).toEqual([{ row: 'first' }]);
  } finally {
    await sql.end();
  }
});

it('returns the rows of a statement after one whose connection ended at its third row', async () => {
  await using database = await createTestDatabase();
  const sql = createClient(database.url, settings);
  try {
    const lost = sql`
      select i, case when i = 3 then pg_terminate_backend(pg_backend_pid()) end as ended from generate_series(1, 5) i`;
    await expect(lost).rejects.toMatchObject({ code: expect.stringMatching(/^(57P01|CONNECTION_CLOSED|ECONNRESET)$/) });
    // The error of the lost connection does not reach the first statement of the next one either.
    expect([...(await sql`select ${'first'}::text as row`)]).toEqual([{ row: 'first' }]);
  } finally {
    await sql.end();
  }
});
