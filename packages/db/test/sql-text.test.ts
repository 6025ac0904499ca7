import { execute, executions, joinTexts, openDatabase, rawText, sqlText, statementOf, users } from '@belay/db';
import { createTestDatabase, type TestDatabase } from '@belay/testkit/database';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

describe('a statement whose text is kept', () => {
  let database: TestDatabase;
  let client: ReturnType<typeof openDatabase>;
  let heard: string[] = [];
  beforeAll(async () => {
    database = await createTestDatabase();
    client = openDatabase(database.url, { max: 1, onStatement: (_connection, statement) => heard.push(statement) });
  });
  afterAll(async () => {
    await client.close();
    await database[Symbol.asyncDispose]();
  });

  const sumOf = (numbers: readonly number[]) =>
    sqlText`select ${joinTexts(
      numbers.map((one) => sqlText`${one}::int`),
      ', ',
    )}`;
  const both = (first: number, second: number, kind: 'sum' | 'text') =>
    sqlText`select ${kind === 'sum' ? sqlText`${first}::int + ${second}::int` : sqlText`${first}::text || ${second}::text`} as result`;

  it('sends the parameters of each use in the order of the text', async () => {
    expect(await execute(client.db, both(1, 2, 'sum'))).toEqual([{ result: 3 }]);
    expect(await execute(client.db, both(3, 4, 'text'))).toEqual([{ result: '34' }]);
    expect(await execute(client.db, both(5, 6, 'sum'))).toEqual([{ result: 11 }]);
  });

  it('sends the same text for the same templates, and another for others', async () => {
    heard = [];
    await execute(client.db, both(1, 2, 'sum'));
    await execute(client.db, both(7, 8, 'sum'));
    await execute(client.db, both(7, 8, 'text'));
    await execute(client.db, sumOf([1, 2]));
    await execute(client.db, sumOf([1, 2, 3]));
    expect(heard[0]).toBe('select $1::int + $2::int as result');
    expect(heard[1]).toBe(heard[0]);
    expect(heard.slice(2)).toEqual([
      'select $1::text || $2::text as result',
      'select $1::int, $2::int',
      'select $1::int, $2::int, $3::int',
    ]);
  });

  it('keeps values of every kind out of the text', async () => {
    for (const value of [`'; drop table users; --`, '$1', '', '{}', null, true, 1.5]) {
      const [row] = await execute<{ value: string | null }>(client.db, sqlText`select ${value}::text as value`);
      expect(row?.value).toBe(value === null ? null : String(value));
    }
  });

  it('names tables and columns as the query builder does, and is a part of its statements', async () => {
    heard = [];
    const never = sqlText`${users.id} is null and ${rawText('true')}`;
    await execute(client.db, sqlText`select ${executions.ownerId} from ${executions} join ${users} on ${never}`);
    await client.db.select({ id: users.id }).from(users).where(sql`${never} or ${users.email} = ${'nobody'}`);
    expect(heard[0]).toBe(
      'select "executions"."owner_id" from "executions" join "users" on "users"."id" is null and true',
    );
    expect(heard[1]).toContain('where "users"."id" is null and true or "users"."email" = $1');
  });

  it('waits to be sent in its order', async () => {
    heard = [];
    const later = statementOf<{ one: number }>(client.db, sqlText`select 1 as one`);
    await execute(client.db, sqlText`select 2`);
    expect(await later.execute()).toEqual([{ one: 1 }]);
    expect(heard).toEqual(['select 2', 'select 1 as one']);
  });
});
