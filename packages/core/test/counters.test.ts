import { readHealth, readMetrics } from '@belay/core';
import { openDatabase } from '@belay/db';
import { sql as query } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Context } from '../src/context.js';
import { ask, type Cast, openCast } from './support/stories.js';

const readNumbers = (ctx: Context) => readMetrics(ctx, { uptimeMilliseconds: 1, requests: 1 });

/** Returns SQL for `many` people who hold the access of a completed request, and `many` past requests that hold nothing any more. */
const crowd = (like: string, many: number) => `
  set session_replication_role = replica;
  create temp table holders as select n, gen_random_uuid() as run, gen_random_uuid() as entitlement from generate_series(1, ${2 * many}) n;
  insert into executions (id, workflow, definition_digest, catalog_version, owner_id, input, status, state, created_at, started_at, ended_at)
    select run, e.workflow, e.definition_digest, 1, e.owner_id, e.input, 'completed', e.state, app_now(), app_now(), app_now()
    from holders, executions e where e.id = '${like}';
  insert into entitlements (id, key, provider, target, subject, identity, access, names, state, last_grant_call_at, due_at)
    select entitlement, 'crowd' || n, 'memory', 'memory', '{}', 'crowd' || n, '{}', '[{"identity": "crowd", "access": {}}]', case when n > ${many} then 'granted' else 'absent' end,
      app_now() - interval '1 hour', app_now() + interval '1 hour' from holders;
  insert into grants (id, execution_id, step_key, entitlement_id, user_id, identity, access, known_as, duration, activate_by, created_at, activated_at, expires_at, gone_at)
    select gen_random_uuid(), run, '/do/0/grant#0', entitlement, e.owner_id, 'crowd', '{}', '[]', 3600000, app_now(), app_now() - interval '3 hours', app_now() - interval '3 hours',
      app_now() + case when n > ${many} then interval '1 hour' else interval '-2 hours' end, case when n <= ${many} then app_now() end
    from holders, executions e where e.id = '${like}';
  set session_replication_role = default;
  analyze;`;

/** Returns SQL for `many` open approvals, one per second, and ten older ones that have expired and are not closed yet. */
const waiting = (like: string, many: number) => `
  set session_replication_role = replica;
  insert into approvals (id, execution_id, step_key, rule, excluded, known_as, subject, request_digest, status, created_at, expires_at)
    select gen_random_uuid(), '${like}', 'crowd' || n, '{}', '[]', '[]', '{}', '', 'open', app_now() - n * interval '1 second',
      app_now() + case when n > ${many} then interval '-1 second' else interval '1 hour' end
    from generate_series(1, ${many + 10}) n;
  set session_replication_role = default;
  analyze;`;

/**
 * Counts the rows that a read costs. Uses one connection, so that its prepared statements get generic plans. Counts within a
 * transaction, because the reads of other connections reach the views of the whole database at any later time.
 */
function countRows<T>({ house }: Cast, read: (ctx: Context) => Promise<T>) {
  const one = openDatabase(house.database.url, { max: 1 });
  const count = () =>
    one.db.transaction(async (db) => {
      // PostgreSQL chooses the plans here, as in production; `npm test` makes all of them generic.
      await db.execute(query`set local plan_cache_mode = auto`);
      const sum = async () => {
        const [found] = await db.execute<{ rows: number }>(
          query`select sum(pg_stat_get_xact_tuples_returned(oid))::int as rows from pg_class
            where relkind in ('r', 'i') and relnamespace = 'public'::regnamespace and relname <> 'catalogs'`,
        );
        return found?.rows ?? Number.NaN;
      };
      const before = await sum();
      const result = await read({ ...house.ctx, db });
      return { result, rows: (await sum()) - before };
    });
  return { count, [Symbol.asyncDispose]: () => one.close() };
}

describe('with much access that is held and was held', () => {
  let cast: Cast;
  beforeAll(async () => {
    cast = await openCast({ fresh: true });
    const { house, ada } = cast;
    await house.database.sql.unsafe(crowd(await ask(house, ada, { workflow: 'automatic' }), 8_000));
  });
  afterAll(() => cast?.[Symbol.asyncDispose]());

  it.each<[string, (ctx: Context) => Promise<unknown>]>([
    ['/metrics', readNumbers],
    ['/health', (ctx) => readHealth(ctx, { path: '/health', scheduler: async () => 'healthy' })],
  ])('%s reads a few rows', async (_, read) => {
    await using rows = countRows(cast, read);
    for (let time = 0; time < 8; time += 1) expect((await rows.count()).rows).toBeLessThan(200);
  });
});

it('/metrics counts a thousand approvals, and reads no more of those that wait, and says how long the oldest has waited', async () => {
  await using cast = await openCast({ fresh: true });
  const { house, ada } = cast;
  await house.database.sql.unsafe(waiting(await ask(house, ada, { workflow: 'automatic' }), 5_000));
  await using rows = countRows(cast, readNumbers);
  for (let time = 0; time < 8; time += 1) {
    const found = await rows.count();
    expect(found.result).toMatchObject({ waiting_approvals: 1_000, oldest_approval_seconds: 5_000 });
    expect(found.rows).toBeLessThan(1_200);
  }
});
