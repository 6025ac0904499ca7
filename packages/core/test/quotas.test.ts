import {
  cancelExecution,
  createSignal,
  decideApproval,
  listInbox,
  listProviderIdentities,
  listProviderRoles,
  requestElevation,
  signalExecution,
  withActor,
} from '@belay/core';
import { openDatabase } from '@belay/db';
import { sql as query } from 'drizzle-orm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  ask,
  type Cast,
  catalogWith,
  hour,
  minute,
  openCast,
  type Person,
  request,
  second,
  together,
} from './support/stories.js';

const limits = { open_requests: 20, signals: 3 };

/** The number of requests that wait for other approvers. Creating them takes most of the time of this file, so `npm test` creates fewer. */
const crowd = process.env.CI ? 20_000 : 4_000;

describe('what one person may have at a time', () => {
  let cast: Cast;
  beforeEach(async () => {
    const catalog = catalogWith({
      pause: [{ wait: { wait: { minutes: 5 } } }],
      listening: [
        { wait: { wait: { minutes: 5 } } },
        { hear: { listen: { to: { one: { with: { type: 'ready' } } } } } },
      ],
      given: [{ grant: { call: 'access.grant' } }],
    });
    cast = await openCast({ catalog: { ...catalog, server: { limits } } });
  });
  afterEach(() => cast[Symbol.asyncDispose]());

  const refusal = { code: 'too_many_requests', message: expect.stringContaining('the limit of 20 for one person') };

  it('is 20 open requests: of 20 that come at once to 19, exactly one is accepted', async () => {
    const { ada, alan } = cast;
    for (let made = 0; made < 19; made += 1) await request(ada, { workflow: 'pause' });
    const tried = await together(Array.from({ length: 20 }, () => request(ada, { workflow: 'pause' })));
    expect(tried.filter((one) => one === 'ok')).toHaveLength(1);
    expect(new Set(tried)).toEqual(new Set(['ok', 'too_many_requests']));
    await expect(request(ada, { workflow: 'pause' })).rejects.toMatchObject(refusal);
    // The limit of one person does not count for others.
    expect(await request(alan, { workflow: 'pause' })).toEqual(expect.any(String));
  });

  it('counts a repeat with the same Idempotency-Key once, also at the limit', async () => {
    const { ada } = cast;
    const keyed = (key: string) =>
      requestElevation(ada, { role: 'reader', reason: 'x', workflow: 'pause', idempotencyKey: key });
    const first = await keyed('first');
    for (let made = 1; made < 20; made += 1) await request(ada, { workflow: 'pause' });
    expect(await keyed('first')).toEqual(first);
    await expect(keyed('another')).rejects.toMatchObject(refusal);
    // The rejected key was not used up.
    await cancelExecution(ada, { id: first.output.execution_id });
    await cast.house.work();
    expect((await keyed('another')).status).toBe('pending');
  });

  it('counts access that outlives its request, until it ends', async () => {
    const { house, ada } = cast;
    for (let made = 0; made < 20; made += 1) await ask(house, ada, { workflow: 'given', duration: 'PT30M' });
    await expect(request(ada, { workflow: 'pause' })).rejects.toMatchObject(refusal);
    await house.pass(31 * minute);
    expect(await request(ada, { workflow: 'pause' })).toEqual(expect.any(String));
  });

  it('calls no provider for a request beyond the limit, through any workflow', async () => {
    const { house, ada } = cast;
    for (let made = 0; made < 20; made += 1) await request(ada, { workflow: 'pause' });
    const before = house.provider.count('identities');
    for (const workflow of ['pause', 'given', 'automatic', 'approved']) {
      await expect(request(ada, { workflow })).rejects.toMatchObject(refusal);
    }
    expect(house.provider.count('identities')).toBe(before);
  });

  it('is a number of events that no task has taken yet, for each sender', async () => {
    const { house, ada } = cast;
    const id = await ask(house, ada, { workflow: 'listening' });
    const send = async (type: string) => {
      const { input } = await createSignal(ada, { id, type });
      return signalExecution(ada, { id, input });
    };
    for (let sent = 0; sent < 3; sent += 1) await send('other');
    await expect(send('other')).rejects.toMatchObject({ code: 'too_many_requests' });
    const kept = await house.database.sql`select count(*)::int as n from signals`;
    expect(kept[0]?.n).toBe(3);
    // An event that a task consumes immediately is not counted.
    await house.pass(5 * minute);
    await send('ready');
  });
});

describe('what one person may request in an hour', () => {
  let cast: Cast;
  beforeEach(async () => {
    const limits = { requests_per_hour: 5, lists_per_hour: 3 };
    cast = await openCast({ catalog: { ...catalogWith({}), server: { limits } } });
  });
  afterEach(() => cast[Symbol.asyncDispose]());

  const refusal = { code: 'too_many_requests', message: expect.stringContaining('5 requests in the last hour') };
  const askAndCancel = async (person: Person) => {
    await cancelExecution(person, { id: await ask(cast.house, person) });
    await cast.house.work();
  };

  it('is a number of requests, cancelled ones among them, and a rejected one calls no provider', async () => {
    const { house, ada, alan } = cast;
    for (let made = 0; made < 5; made += 1) await askAndCancel(ada);
    const before = house.provider.count('identities');
    for (const workflow of ['automatic', 'approved']) {
      await expect(request(ada, { workflow })).rejects.toMatchObject(refusal);
    }
    expect(house.provider.count('identities')).toBe(before);
    await askAndCancel(alan);
    await house.pass(hour + second);
    await askAndCancel(ada);
  });

  it('is counted for requests that come at once: no more than the rest of them are accepted or call a provider', async () => {
    const { house, ada } = cast;
    for (let made = 0; made < 3; made += 1) await askAndCancel(ada);
    const before = house.provider.count('identities');
    const tried = await together(Array.from({ length: 12 }, () => request(ada)));
    expect(tried.filter((one) => one === 'ok')).toHaveLength(2);
    expect(new Set(tried)).toEqual(new Set(['ok', 'too_many_requests']));
    expect(house.provider.count('identities') - before).toBe(2);
  });

  it('counts requests that were rejected after a provider was called', async () => {
    const { ada } = cast;
    for (let made = 0; made < 5; made += 1) {
      await expect(request(ada, { identities: ['nobody'] })).rejects.toMatchObject({ code: 'forbidden' });
    }
    await expect(request(ada)).rejects.toMatchObject(refusal);
  });

  it('is a number of lists that are read from providers, too', async () => {
    const { house, ada, alan } = cast;
    const [provider = ''] = house.catalog.current().roles.get('reader')?.providers ?? [];
    for (let made = 0; made < 3; made += 1) await listProviderRoles(ada, { provider });
    const before = house.provider.count('roles');
    await expect(listProviderRoles(ada, { provider })).rejects.toMatchObject({ code: 'too_many_requests' });
    await expect(listProviderIdentities(ada, { provider })).rejects.toMatchObject({ code: 'too_many_requests' });
    expect(house.provider.count('roles')).toBe(before);
    await listProviderRoles(alan, { provider });
    await house.database.advance(hour + second);
    await listProviderRoles(ada, { provider });
  });
});

describe('the inbox of an approver', () => {
  let cast: Cast;
  beforeEach(async () => {
    const catalog = catalogWith({});
    cast = await openCast({ catalog: { ...catalog, server: { limits: { open_requests: 1_000 } } } });
  });
  afterEach(() => cast[Symbol.asyncDispose]());

  /** Copies an open request often enough to flood an inbox. */
  async function flood(person: Person, times: number): Promise<string> {
    const { house } = cast;
    const id = await ask(house, person);
    await house.database.sql`
      with copies as (
        insert into executions (id, workflow, definition_digest, catalog_version, owner_id, input, status, state, started_at)
        select gen_random_uuid(), workflow, definition_digest, catalog_version, owner_id, input, status, state, started_at
        from executions, generate_series(1, ${times}) where id = ${id} returning id)
      insert into approvals (id, execution_id, step_key, rule, excluded, known_as, subject, request_digest, status, expires_at)
      select gen_random_uuid(), copies.id, step_key, rule, excluded, known_as, subject, request_digest, status, expires_at
      from copies, approvals where execution_id = ${id}`;
    return id;
  }

  it('shows in turns, so that 530 requests of one person hide no one of another', async () => {
    const { house, ada, alan, grace } = cast;
    await flood(ada, 529);
    await house.database.advance(minute);
    const other = await ask(house, alan);
    const inbox = await listInbox(grace);
    expect(inbox.approvals).toHaveLength(500);
    expect(inbox.approvals[1]?.execution_id).toBe(other);
    expect(inbox).toMatchObject({
      total: 531,
      requesters: [
        { email: 'ada@example.com', waiting: 530 },
        { email: 'alan@example.com', waiting: 1 },
      ],
    });
    expect((await listInbox(grace, { requester: 'ALAN@example.com' })).approvals).toMatchObject([
      { execution_id: other },
    ]);
    const rest = await listInbox(grace, { cursor: inbox.next ?? '' });
    expect(rest.approvals).toHaveLength(31);
    expect(rest.next).toBeNull();
    const ids = [...inbox.approvals, ...rest.approvals].map(({ id }) => id);
    expect(new Set(ids).size).toBe(531);
  });

  it(`reads nothing of ${crowd} open requests that ask others`, async () => {
    const { house, ada, alan, grace } = cast;
    const { sql } = house.database;
    const theirs = await flood(ada, crowd - 1);
    const others = { users: ['nobody@example.com'], groups: ['others'], count: 1, refusals: 1 };
    await sql`update approvals set status = 'withdrawn'`;
    await sql`update approvals set status = 'open', rule = ${sql.json(others)}`;
    const mine = await ask(house, alan);
    // One connection, so that its prepared statements get generic plans. Counted within its own transaction, because the reads of
    // other connections reach the views of the whole database at any later time.
    const one = openDatabase(house.database.url, { max: 1 });
    // PostgreSQL chooses the plans here, as in production; `npm test` makes all of them generic.
    await one.db.execute(query`set plan_cache_mode = auto`);
    /** Returns how many rows of tables and indexes an inbox reads. */
    const rows = () =>
      one.db.transaction(async (db) => {
        const count = async () => {
          const [read] = await db.execute<{ rows: number }>(
            query`select sum(pg_stat_get_xact_tuples_returned(oid))::int as rows from pg_class
              where relkind in ('r', 'i') and relnamespace = 'public'::regnamespace and relname <> 'catalogs'`,
          );
          return read?.rows ?? Number.NaN;
        };
        const before = await count();
        const inbox = await listInbox(withActor({ ...house.ctx, db }, grace.actor));
        expect(inbox.approvals).toMatchObject([{ execution_id: mine }]);
        return (await count()) - before;
      });
    // Removes the dead rows from when the copies still named this approver.
    await sql`vacuum (analyze)`;
    // More than five times, so that generic plans of prepared statements are included.
    for (let time = 0; time < 8; time += 1) expect(await rows()).toBeLessThan(200);
    await one.close();
    expect((await listInbox(withActor(house.ctx, { ...grace.actor, groups: ['others'] }), { limit: 5 })).total).toBe(
      crowd,
    );
    expect(await listInbox(withActor(house.ctx, { ...grace.actor, groups: [] }))).toMatchObject({ total: 0 });
    expect((await listInbox(grace, { id: theirs })).approvals).toEqual([]);
  });

  it('is not needed to decide: what is on no page is found and decided by its id', async () => {
    const { ada, grace } = cast;
    const id = await flood(ada, 40);
    await cast.house.database
      .sql`update approvals set created_at = created_at + interval '1 minute' where execution_id = ${id}`;
    const page = await listInbox(grace, { limit: 10 });
    expect(page.approvals.map(({ execution_id }) => execution_id)).not.toContain(id);
    const [found] = (await listInbox(grace, { id })).approvals;
    expect(found?.execution_id).toBe(id);
    await decideApproval(grace, { id, verdict: 'approve', request_digest: found?.request_digest, via: 'api' });
    expect((await listInbox(grace, { id })).approvals).toEqual([]);
  });

  it('tells nothing of what does not wait for the caller, and rejects cursors of others', async () => {
    const { ada, mallory, grace } = cast;
    const id = await flood(ada, 2);
    expect(await listInbox(mallory, { id })).toEqual({ approvals: [], next: null, total: 0, requesters: [] });
    expect(await listInbox(mallory, { requester: 'ada@example.com' })).toMatchObject({ approvals: [], total: 0 });
    expect((await listInbox(grace, { id: "x' or true" })).approvals).toEqual([]);
    for (const cursor of ['', '1', '1.2', '1.2.x', `1.2.${id}.3`, `-1.2.${id}`, `1.99999999999999999.${id}`]) {
      await expect(listInbox(grace, { cursor })).rejects.toMatchObject({ code: 'invalid' });
    }
    await cast.house.pass(25 * hour);
    expect((await listInbox(grace)).total).toBe(0);
  });
});
