import {
  type ActorContext,
  cancelExecution,
  claimDue,
  createLogin,
  expireLogins,
  exportLogs,
  getExecution,
  getPerson,
  listAccess,
  listAllAccess,
  listAudit,
  listExecutions,
  listInbox,
  listLogs,
  listOverdue,
  listReviews,
  readMetrics,
  reconcileEntitlement,
  requestElevation,
  returnAccess,
  verifyLogin,
  withActor,
} from '@belay/core';
import { openDatabase } from '@belay/db';
import { sweep } from '@belay/testkit/sweep';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { glancesOf } from '../src/executions/glance.js';
import { readHappenings } from '../src/executions/history.js';
import { access, approve, ask, type Cast, catalogWith, minute, openCast, type Person } from './support/stories.js';

const big = [
  'executions',
  'steps',
  'ledger',
  'task_events',
  'signals',
  'grants',
  'entitlements',
  'approvals',
  'approval_audience',
  'decisions',
  'logins',
  'users',
  'idempotency_keys',
  'reviews',
];

const rule = JSON.stringify({ users: [], groups: ['approvers'], count: 1, refusals: 1 });

/** The number of past requests. Creating them takes most of the time of this file, so only CI creates all of them. */
const past = process.env.CI ? 25_000 : 15_000;
/** The number of requests for the entitlement that most people hold. */
const favouring = past * 0.8;

/** Returns the SQL that fills the tables as after years, around the rows of the test. Most requests are for the same entitlement. */
const years = (hot: string, like: string, ada: string) => `
  set session_replication_role = replica;
  create temp table people as select n, gen_random_uuid() as id from generate_series(1, 5000) n;
  insert into users (id, provider, subject, email, name, groups) select id, 'login', 'filler' || n, 'filler' || n || '@example.com', 'Filler', '["engineers"]' from people;
  create temp table runs as select n, gen_random_uuid() as id, case when n % 25 = 0 then '${ada}'::uuid else (select id from people where people.n = r.n % 5000 + 1) end as owner
    from generate_series(1, ${past}) r(n);
  insert into executions (id, workflow, definition_digest, catalog_version, owner_id, input, status, state, created_at, started_at, ended_at)
    select runs.id, e.workflow, e.definition_digest, 1, runs.owner, e.input, case when runs.n % 500 = 0 then 'waiting' else 'completed' end, e.state,
      app_now() - runs.n * interval '10 minutes', app_now() - runs.n * interval '10 minutes',
      case when runs.n % 500 = 0 then null else app_now() - runs.n * interval '9 minutes' end
    from runs, executions e where e.id = '${like}';
  insert into steps (execution_id, key, kind, status, request, attempt, due_at, closed_at)
    select id, '/do/0/grant#0', 'call', case when n % 500 = 0 then 'open' else 'done' end, '{"call": "access.hold"}', 1, app_now() + interval '10 days', null from runs;
  insert into ledger (type, level, message, actor, user_id, provider, execution_id)
    select 'filler', case when k = 4 then 'error' else 'info' end, 'something happened', '{}', owner, 'memory', id from runs, generate_series(1, 4) k;
  insert into task_events (execution_id, seq, nth, actor, user_id, events)
    select id, nextval('ledger_seq_seq'), 1, '{"system": "runtime"}', owner, '[["started", "/do/0/grant"]]' from runs;
  insert into signals (execution_id, source, event_id, type, event, consumed_at)
    select id, 'urn:filler', n::text, 'filler', 'null', app_now() from runs;
  insert into entitlements (id, key, provider, target, subject, identity, access, names, state, last_grant_call_at, due_at)
    select gen_random_uuid(), 'filler' || n, 'memory', 'memory', '{}', 'filler' || n, '{}', '[{"identity": "filler", "access": {}}]', case when n % 50 = 0 then 'granted' else 'absent' end, app_now(), app_now() + interval '10 days' from generate_series(1, 5000) n;
  insert into grants (id, execution_id, step_key, entitlement_id, user_id, identity, access, known_as, duration, activate_by, created_at, activated_at, expires_at, ended_at, ended_reason, gone_at)
    select gen_random_uuid(), id, '/do/0/grant#0', '${hot}', owner, 'filler', '{}', '[]', 60000, app_now(), app_now() - interval '400 days', app_now() - interval '399 days',
      app_now() - n * interval '10 minutes', null, null, case when n % 4 = 0 then null else app_now() - n * interval '9 minutes' end
    from runs where n <= ${favouring};
  insert into grants (id, execution_id, step_key, entitlement_id, user_id, identity, access, known_as, duration, activate_by, created_at, activated_at, expires_at, gone_at)
    select gen_random_uuid(), id, '/do/0/grant#0', (select e.id from entitlements e where e.key = 'filler' || (n % 5000 + 1)), owner, 'filler', '{}', '[]', 60000, app_now(),
      app_now() - interval '400 days', app_now() - interval '399 days', app_now() - n * interval '10 minutes', app_now() - n * interval '9 minutes'
    from runs where n > ${favouring};
  insert into approvals (id, execution_id, step_key, rule, excluded, known_as, subject, request_digest, status, expires_at, closed_at)
    select gen_random_uuid(), id, 'filler', '${rule}', '[]', '[]', '{"role": "reader", "reason": "", "duration": 60000, "requester": {}, "grants": []}', 'filler',
      case when n % 500 = 0 then 'open' else 'approved' end, app_now() + interval '1 day', null from runs where n <= ${favouring} or n % 500 = 0;
  insert into approval_audience (kind, name, approval_id) select 'group', 'approvers', id from approvals where status = 'open' on conflict do nothing;
  insert into approval_audience (kind, name, approval_id) select 'group', 'others', gen_random_uuid() from runs;
  insert into decisions (approval_id, approver_id, verdict, request_digest, via) select a.id, e.owner_id, 'approve', 'filler', 'api'
    from approvals a join executions e on e.id = a.execution_id where a.request_digest = 'filler' and a.status = 'approved';
  insert into logins (secret_hash, id, user_id, kind, provider, expires_at) select 'filler' || n || '/' || k, gen_random_uuid(), id, 'browser', 'login', app_now() + interval '5 hours'
    from people, generate_series(1, 4) k;
  insert into idempotency_keys (user_id, key, request_digest, execution_id, created_at) select owner, 'filler' || n, 'filler', id, app_now() from runs where n <= ${favouring};
  insert into reviews (execution_id, rule, opened_at, due_at, closed_at, closed_by, verdict, note)
    select id, '{"users": [], "groups": ["approvers"]}', app_now() - n * interval '10 minutes', app_now() + interval '1 day',
      case when n > 50 then app_now() end, case when n > 50 then owner end, case when n > 50 then 'justified' end,
      case when n > 50 then 'a filler' end
    from runs where n <= 50 or n % 2 = 0;
  set session_replication_role = default;
`;

describe('with years of history, everything is found by an index', () => {
  let cast: Cast;
  let one: ReturnType<typeof openDatabase> | undefined;
  let ids: { active: string; hot: string };

  beforeAll(async () => {
    const access = { auditors: { users: ['mallory@example.com'] } };
    const catalog = {
      ...catalogWith({}),
      access,
      server: { limits: { open_requests: 100_000, requests_per_hour: 100_000 } },
    };
    cast = await openCast({ catalog, fresh: true });
    const { house, ada } = cast;
    const { sql } = house.database;
    const active = await ask(house, ada, { workflow: 'automatic', duration: 'PT2H' });
    const [row] = await sql`select id from entitlements`;
    ids = { active, hot: row?.id as string };
    // Autovacuum would summarise the index at any time, and each summarised range counts as a sequential scan.
    await sql`alter index ledger_seq_idx set (autosummarize = off)`;
    await sql.unsafe(years(ids.hot, active, ada.actor.id));
    await sql`select brin_summarize_new_values('ledger_seq_idx')`;
    await sql.unsafe('analyze');
    await settleCounters(sql);
    one = openDatabase(house.database.url, { max: 1 });
  }, 240_000);
  afterAll(async () => {
    await one?.close();
    await cast.house.database.sql`alter index ledger_seq_idx set (autosummarize = on)`;
    await cast[Symbol.asyncDispose]();
  });

  /**
   * Ends the connections of the setup. An idle connection reports its scans seconds later, so scans of the setup would count for
   * the test that runs then.
   */
  async function settleCounters(sql: Cast['house']['database']['sql']): Promise<void> {
    // One connection for all statements: the next one could otherwise go to a connection that was ended.
    const own = await sql.reserve();
    const others = own`
      select pid from pg_stat_activity
      where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`;
    const before = (await others).map(({ pid }) => pid as number);
    await own`select pg_terminate_backend(pid) from unnest(${before}::int[]) as pid`;
    const left = async () => (await own`select from pg_stat_activity where pid = any(${before})`).length;
    await vi.waitFor(async () => expect(await left()).toBe(0), { timeout: 30_000 });
    await own`select pg_stat_force_next_flush()`;
    own.release();
    // The client notices the end of its other connection later than the server, and would send the next statement to it.
    await vi.waitFor(() => Promise.all([sql`select 1`, sql`select 1`]), { timeout: 30_000 });
  }

  const pool = () => {
    if (!one) throw new Error('not open');
    return one.db;
  };

  /** Returns the sequential scans of big tables that some work causes, generic plans of prepared statements included. */
  async function scans(
    work: (ctx: ActorContext & Person, times: number) => Promise<unknown>,
    person: Person = cast.ada,
    times = 7,
  ): Promise<Record<string, number>> {
    const ctx = withActor({ ...cast.house.ctx, db: pool() }, person.actor);
    const before = await counters('seq_scan');
    for (let time = 0; time < times; time += 1) await work(ctx, time);
    const after = await counters('seq_scan');
    return Object.fromEntries(
      big
        .map((table) => [table, (after.get(table) ?? 0) - (before.get(table) ?? 0)])
        .filter(([, count]) => Number(count) > 0),
    );
  }

  async function counters(name: 'seq_scan' | 'idx_tup_fetch'): Promise<Map<string, number>> {
    // One connection does all the work, so its own flush brings the counters up to date.
    await pool().execute('select pg_stat_force_next_flush()');
    const { sql } = cast.house.database;
    const rows = await sql`select relname, ${sql(name)}::int as count from pg_stat_user_tables`;
    return new Map(rows.map((row) => [row.relname as string, row.count as number]));
  }

  it('sees a sequential scan when there is one', async () => {
    expect(await scans((ctx) => ctx.db.execute('select count(*) from grants where duration < 0'), cast.ada, 1)).toEqual(
      { grants: expect.any(Number) },
    );
  });

  it.each<[string, () => Promise<Record<string, number>>]>([
    ['the inbox', () => scans((ctx) => listInbox(ctx), cast.grace)],
    ['running executions', () => scans((ctx) => listExecutions(ctx))],
    ['past requests', () => scans((ctx) => listExecutions(ctx, { status: 'past', limit: 25 }))],
    ['active requests', () => scans((ctx) => listExecutions(ctx, { status: 'active', limit: 25 }))],
    ['open requests', () => scans((ctx) => listExecutions(ctx, { status: 'open', limit: 25 }))],
    ['words in past requests', () => scans((ctx) => listExecutions(ctx, { status: 'past', q: 'none has this' }))],
    ['requests in a time', () => scans((ctx) => listExecutions(ctx, { status: 'all', from: '2020-01-01', limit: 25 }))],
    ['decided requests', () => scans((ctx) => listExecutions(ctx, { decided_by: 'me', limit: 25 }), cast.grace)],
    [
      'requests of another person',
      () => scans((ctx) => listExecutions(ctx, { person: 'ada@example.com', limit: 25 }), cast.grace),
    ],
    ['one execution', () => scans((ctx) => getExecution(ctx, { id: ids.active }))],
    ['held access', () => scans((ctx) => listAccess(ctx))],
    ['logs', () => scans((ctx) => listLogs(ctx, {}))],
    ['logs of one execution', () => scans((ctx) => listLogs(ctx, { workflow_id: ids.active }))],
    ['logs of one level', () => scans((ctx) => listLogs(ctx, { level: 'error', limit: 20 }))],
    ['logs of one type', () => scans((ctx) => listLogs(ctx, { type: 'io.serverlessworkflow.task.started.v1' }))],
    ['logs of one person', () => scans((ctx) => listLogs(ctx, { user: 'ada@example.com' }), cast.grace)],
    ['sweeps with nothing to do', () => scans((ctx) => sweep(ctx))],
    ['what is due at a provider', () => scans((ctx) => claimDue(ctx, { provider: 'memory', limit: 32 }))],
    ['the whole audit log', () => scans((ctx) => listAudit(ctx, { limit: 50 }), cast.mallory)],
    ['the audit log of a type', () => scans((ctx) => listAudit(ctx, { type: 'none' }), cast.mallory)],
    ['the audit log of one request', () => scans((ctx) => listAudit(ctx, { execution_id: ids.active }), cast.mallory)],
    ['the access of all people', () => scans((ctx) => listAllAccess(ctx, {}), cast.mallory)],
    ['the access of one person', () => scans((ctx) => getPerson(ctx, { user: 'ada@example.com' }), cast.mallory)],
    ['the list of overdue revocations', () => scans((ctx) => listOverdue(ctx, {}), cast.mallory)],
    ['open reviews', () => scans((ctx) => listReviews(ctx, { limit: 25 }), cast.grace)],
    ['whether a review waits', () => scans((ctx) => listReviews(ctx, { limit: 1 }))],
    ['closed reviews', () => scans((ctx) => listReviews(ctx, { status: 'closed', limit: 25 }), cast.mallory)],
    ['reviews of one request', () => scans((ctx) => listReviews(ctx, { execution_id: ids.active }), cast.mallory)],
    ['overdue revocations', () => scans((ctx) => readMetrics(ctx, { uptimeMilliseconds: 1, requests: 1 }))],
    ['expiring logins', () => scans((ctx) => expireLogins(ctx))],
  ])('%s', async (_name, look) => {
    expect(await look()).toEqual({});
  });

  it('a login', async () => {
    const { token } = await createLogin(cast.house.ctx, { user: cast.ada.actor, kind: 'browser' });
    expect(await scans((ctx) => verifyLogin(ctx, { token }))).toEqual({});
  });

  it('reconciling the favourite entitlement, when it rests and when it is extended', async () => {
    const { sql } = cast.house.database;
    const due = (state: string) =>
      sql`update entitlements set state = ${state}, due_at = app_now(), lease_until = null where id = ${ids.hot}`;
    expect(
      await scans(async (ctx, time) => {
        await due(time % 2 ? 'granting' : 'granted');
        await reconcileEntitlement(ctx, { entitlementId: ids.hot });
      }),
    ).toEqual({});
    expect(cast.house.provider.holds('ada@example.com', access)).toBe(true);
  });

  it('a request from its beginning to its end', async () => {
    const { house, grace } = cast;
    expect(
      await scans(async (ctx, time) => {
        const approver = withActor(ctx, grace.actor);
        const asked = {
          role: 'reader',
          reason: 'a ticket',
          workflow: 'approved',
          duration: 'PT1H',
          idempotencyKey: `key ${time}`,
        };
        const id = (await requestElevation(ctx, asked)).output.execution_id;
        await sweep(ctx);
        await approve(approver, id);
        await sweep(ctx);
        if (time % 2) await returnAccess(ctx, { execution_id: id });
        else await cancelExecution(ctx, { id });
        await sweep(ctx);
        await house.database.advance(minute);
      }),
    ).toEqual({});
  });

  it('logs, histories and watchers read only a part of the entries of a request that has many', async () => {
    const { house, ada } = cast;
    const many = 20_000;
    await house.database.sql`
      insert into ledger (type, level, message, actor, user_id, execution_id)
      select 'filler', 'info', 'something happened', '{}', ${ada.actor.id}, ${ids.active} from generate_series(1, ${many}::int)`;
    await house.database.sql`analyze ledger`;
    const [row] = await house.database
      .sql`select max(seq)::float8 as last from ledger where execution_id = ${ids.active}`;
    const last = row?.last as number;
    // The sequence counts in hundreds.
    const middle = last - 50 * many;
    const ctx = withActor({ ...house.ctx, db: pool(), delay: async () => {} }, ada.actor);
    const part = { limit: 20 } as const;
    const reads: Record<string, () => Promise<unknown>> = {
      logs: () => listLogs(ctx, part),
      'a page of the logs': () => exportLogs(ctx, { ...part, cursor: String(middle) }),
      'one execution': () => getExecution(ctx, { id: ids.active, ...part }),
      'a page of its history': () => getExecution(ctx, { id: ids.active, ...part, cursor: String(middle) }),
      'its first events': () => readHappenings(ctx.db, ids.active, { ...part, from: 'oldest' }),
      'events from the middle': () => readHappenings(ctx.db, ids.active, { ...part, from: 'oldest', after: middle }),
      'what is new to a watcher': () => glancesOf(ctx).at({ id: ids.active, after: last - 100 * part.limit }),
    };
    for (const [name, read] of Object.entries(reads)) {
      const before = (await counters('idx_tup_fetch')).get('ledger') ?? 0;
      // After five executions PostgreSQL may use a generic plan.
      for (let time = 0; time < 10; time += 1) await read();
      const fetched = ((await counters('idx_tup_fetch')).get('ledger') ?? 0) - before;
      expect(fetched, name).toBeGreaterThanOrEqual(10 * part.limit);
      // One range of numbers has 1,310 entries.
      expect(fetched, name).toBeLessThan(10 * 1_500);
    }
  });

  it('the last one out, with everyone before it still to be told', async () => {
    const { house } = cast;
    await house.database.advance(3 * 60 * minute);
    const started = performance.now();
    const took = await scans((ctx) => sweep(ctx), cast.ada, 1);
    expect(house.provider.held()).toEqual([]);
    expect(took).toEqual({});
    expect(performance.now() - started).toBeLessThan(15_000);
  });
});
