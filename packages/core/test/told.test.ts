import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  cancelExecution,
  decideApproval,
  deliverMessages,
  extendElevation,
  readMetrics,
  returnAccess,
} from '@belay/core';
import { type Connector, webhookConnector } from '@belay/providers';
import { approvalCatalog, approvalTasks } from '@belay/testkit/house';
import { afterEach, describe, expect, it } from 'vitest';
import { access, approve, ask, type Cast, day, hour, minute, openCast } from './support/stories.js';

const everything = ['request.waiting', 'request.decided', 'access.active', 'access.ending', 'access.ended'];

function catalog(messages: object = {}, role: object = {}): object {
  const usual = { channels: ['memory'], kinds: everything };
  return { ...approvalCatalog({ role }), messages: { ...usual, ...messages } };
}

describe('people are told', () => {
  let cast: Cast | undefined;
  afterEach(async () => {
    await cast?.[Symbol.asyncDispose]();
    cast = undefined;
  });
  const open = async (messages: object = {}, role: object = {}, time?: string) => {
    cast = await openCast({ catalog: catalog(messages, role), ...(time === undefined ? {} : { time }) });
    return cast;
  };
  const delivered = () => (cast as Cast).house.provider.messages;
  /** Returns the titles of the messages to a person, in order. */
  const toldOf = (to: string) =>
    delivered()
      .filter((message) => message.to === `${to}@example.com`)
      .map(({ title }) => title);
  const asleep = (who: 'ada' | 'grace', more: object = {}) => {
    const { house, [who]: person } = cast as Cast;
    const row = { muted: [], channels: null, ...more };
    return house.database.sql`
      insert into notification_preferences (user_id, muted, channels, quiet_from, quiet_to, time_zone)
      values (${person.actor.id}, ${row.muted}, ${row.channels}, '11:00', '13:00', 'Europe/Berlin')`;
  };

  it('of a request from its start to the end of its access, each once, and only those concerned', async () => {
    const { house, ada, grace } = await open();
    const id = await ask(house, ada, { duration: 'PT1H' });
    expect([toldOf('grace'), toldOf('alan')]).toEqual(Array(2).fill(['A request waits for your decision']));
    await approve(grace, id);
    await house.work();
    expect(toldOf('ada')).toEqual(['Approved: reader', 'Access is active: reader']);
    for (const turn of [44, 2, 10, 1]) await house.pass(turn * minute);
    expect(toldOf('ada').slice(2)).toEqual(['Access ends in 14 minutes: reader', 'Access ends in 4 minutes: reader']);
    await house.pass(hour);
    await house.pass(hour);
    expect(toldOf('ada').slice(4)).toEqual(['Access has ended: reader']);
    expect(toldOf('mallory')).toEqual([]);
    expect(new Set(delivered().map(({ idempotencyKey }) => idempotencyKey)).size).toBe(delivered().length);
    expect(house.provider.count('deliver')).toBe(delivered().length);
  });

  it('of a denial, in words and with a link, and of nothing that did not happen', async () => {
    const { house, ada, grace } = await open();
    const id = await ask(house, ada);
    await decideApproval(grace, { id, verdict: 'deny', via: 'api', comment: 'not before the audit' });
    await house.work();
    expect(toldOf('ada')).toEqual(['Denied: reader']);
    const [told] = delivered().filter(({ to }) => to === 'ada@example.com');
    expect(told?.kind).toBe('request.decided');
    expect(told?.facts).toEqual([
      { name: 'Role', value: 'reader' },
      { name: 'Reason', value: 'a ticket' },
      { name: 'Decided by', value: expect.stringContaining('<grace@example.com>') },
      { name: 'Comment', value: 'not before the audit' },
    ]);
    expect(told?.actions).toEqual([
      {
        kind: 'link',
        label: 'View request',
        url: `http://127.0.0.1:8080/requests/${id}`,
        api: `http://127.0.0.1:8080/api/v1/execution/${id}`,
      },
    ]);
  });

  describe('in the order of what happened', () => {
    const story = ['Approved: reader', 'Access is active: reader'];
    /** Returns the titles of the messages to ada about a request. */
    const toldOfRequest = (id: string) =>
      delivered().flatMap(({ to, title, actions }) =>
        to === 'ada@example.com' && actions.some((action) => 'url' in action && action.url.endsWith(id)) ? [title] : [],
      );

    it('so that what is tried again is waited for by what came after it, and by no other request or person', async () => {
      const { house, ada, grace } = await open();
      const [first, second] = [await ask(house, ada), await ask(house, ada)];
      house.provider.inject('deliver', { kind: 'throttle' });
      await approve(grace, first);
      await house.work();
      expect(toldOfRequest(first)).toEqual([]);
      await approve(grace, second);
      await house.work();
      expect([toldOfRequest(first), toldOfRequest(second)]).toEqual([[], story]);
      expect(toldOf('grace')).toHaveLength(2);
      await house.pass(minute);
      expect(toldOfRequest(first)).toEqual(story);
    });

    it('so that what came after a message that was given up is told at once', async () => {
      const { house, ada, grace } = await open();
      const id = await ask(house, ada);
      house.provider.inject('deliver', { kind: 'refuse' });
      await approve(grace, id);
      await house.work();
      expect(toldOf('ada')).toEqual(story.slice(1));
    });

    it('but for the end of access in 5 minutes, which waits for nothing', async () => {
      const { house, ada } = await open({ kinds: ['access.ending'] });
      await ask(house, ada, { workflow: 'automatic', duration: 'PT1H' });
      house.provider.inject('deliver', { kind: 'throttle' });
      await house.pass(46 * minute);
      await house.database.sql`update messages set due_at = app_now() + interval '1 hour'`;
      await house.pass(10 * minute);
      expect(toldOf('ada')).toEqual(['Access ends in 4 minutes: reader']);
    });

    it('also while another worker still tells of what came before', async () => {
      const { house, ada, grace } = await open();
      const { sql } = house.database;
      const id = await ask(house, ada);
      // The notice of the decision is written, and a worker sends it, before the notice of the access.
      const teller = await sql.reserve();
      await decideApproval(grace, { id, verdict: 'approve', via: 'api' });
      const [decided] = await sql`select 1 from notices where kind = 'request.decided'`;
      expect(decided).toBeDefined();
      await teller`begin`;
      await teller`select 1 from notices where kind = 'request.decided' for update`;
      await house.work();
      expect(toldOf('ada')).toEqual([]);
      await teller`rollback`;
      teller.release();
      await house.work();
      expect(toldOf('ada')).toEqual(story);
    });
  });

  it('and a notice that cannot be written, or is being told, stops no approval, no grant and no revocation', async () => {
    const { house, ada, grace } = await open();
    const { sql } = house.database;
    const id = await ask(house, ada, { duration: 'PT1H' });
    await sql`alter table notices add constraint full_disk check (kind = 'request.waiting') not valid`;
    await approve(grace, id);
    await house.work();
    expect(house.provider.holds('ada@example.com', access)).toBe(true);
    await sql`alter table notices drop constraint full_disk`;
    // A worker that stops while it sends this notice does not delay the one that records the end.
    await sql`insert into notices (key, kind, execution_id) values (${`access.ended:${id}`}, 'access.ended', ${id})`;
    const teller = await sql.reserve();
    await teller`begin`;
    await teller`select 1 from notices where kind = 'access.ended' for update`;
    await returnAccess(ada, { execution_id: id });
    await house.work();
    expect(house.provider.holds('ada@example.com', access)).toBe(false);
    const [grant] = await sql`select gone_at from grants`;
    expect(grant?.gone_at).not.toBeNull();
    await teller`rollback`;
    teller.release();
  });

  it('nothing while the configuration names no channel: nothing is written either', async () => {
    cast = await openCast();
    const id = await ask(cast.house, cast.ada, { duration: 'PT1H' });
    await approve(cast.grace, id);
    for (let turn = 0; turn < 4; turn += 1) await cast.house.pass(20 * minute);
    expect(await cast.house.database.sql`select 1 from notices union all select 1 from messages`).toEqual([]);
  });

  it('nothing of kinds that the configuration leaves out, and nothing that they have muted', async () => {
    const { house, ada, grace } = await open({ kinds: ['request.waiting', 'access.active'] });
    await asleep('grace', { muted: ['request.waiting'] });
    const id = await ask(house, ada);
    await approve(grace, id);
    await house.work();
    expect(toldOf('grace')).toEqual([]);
    expect(toldOf('alan')).toHaveLength(1);
    expect(toldOf('ada')).toEqual(['Access is active: reader']);
  });

  it('after their quiet hours, by their own clock', async () => {
    const { house, ada } = await open();
    await asleep('grace');
    await ask(house, ada);
    expect([toldOf('grace').length, toldOf('alan').length]).toEqual([0, 1]);
    await house.pass(2 * hour - minute);
    expect(toldOf('grace')).toEqual([]);
    await house.pass(2 * minute);
    expect(toldOf('grace')).toEqual(['A request waits for your decision']);
  });

  it('in their quiet hours of what is urgent: an urgent role, and the end of access in 5 minutes', async () => {
    const { house, ada, grace } = await open({}, { urgent: true });
    await asleep('grace');
    await asleep('ada');
    const id = await ask(house, ada, { duration: 'PT1H' });
    expect(toldOf('grace')).toHaveLength(1);
    await approve(grace, id);
    for (const turn of [0, 46, 10]) await house.pass(turn * minute);
    expect(toldOf('ada')).toEqual(['Access ends in 4 minutes: reader']);
  });

  it('each morning how many requests wait for them, once a day', async () => {
    const { house, ada } = await open({ kinds: ['requests.digest'], digest: '12:00', time_zone: 'Europe/Berlin' });
    await ask(house, ada);
    await ask(house, ada, { workflow: 'approved' });
    expect(toldOf('grace')).toEqual([]);
    for (let turn = 0; turn < 4; turn += 1) await house.pass(70 * minute);
    expect([toldOf('grace'), toldOf('ada')]).toEqual([['2 requests wait for your decision'], []]);
  });

  it('each morning of no request whose time for a decision is over, before a worker has closed it', async () => {
    const { house, ada } = await open({ kinds: ['requests.digest'], digest: '12:00', time_zone: 'Europe/Berlin' });
    const late = await ask(house, ada);
    await ask(house, ada);
    await house.database.sql`
      update approvals set expires_at = app_now() + interval '1 minute' where execution_id = ${late}`;
    for (let turn = 0; turn < 2; turn += 1) await house.pass(70 * minute);
    const rows = await house.database.sql`select status from approvals`;
    expect(rows.map(({ status }) => status)).toEqual(['open', 'open']);
    expect(toldOf('grace')).toEqual(['1 request waits for your decision']);
  });

  it('operators of a revocation that is overdue, once', async () => {
    const operators = [{ provider: 'memory', to: 'ops@example.com' }];
    const { house, ada } = await open({ operators, kinds: ['revocation.overdue'] });
    const id = await ask(house, ada, { workflow: 'automatic' });
    house.provider.inject('ensureAbsent', { kind: 'throttle' }, 10_000);
    await returnAccess(ada, { execution_id: id });
    for (let turn = 0; turn < 4; turn += 1) await house.pass(minute);
    expect(toldOf('ops')).toEqual(['A revocation at memory is overdue']);
  });

  it('operators of an overdue revocation by the end of the last grant, not of the grant that it extended', async () => {
    const operators = [{ provider: 'memory', to: 'ops@example.com' }];
    const { house, ada } = await open({ operators, kinds: ['revocation.overdue'] });
    const id = await ask(house, ada, { workflow: 'automatic' });
    await house.pass(20 * minute);
    await extendElevation(ada, { id });
    await house.work();
    house.provider.inject('ensureAbsent', { kind: 'throttle' }, 10_000);
    await house.pass(30 * minute + 10_000);
    expect([house.provider.holds('ada@example.com', access), toldOf('ops')]).toEqual([true, []]);
    for (let turn = 0; turn < 4; turn += 1) await house.pass(minute);
    expect(toldOf('ops')).toEqual(['A revocation at memory is overdue']);
  });

  it('operators, once, when a late grant call brought access back and its revocation fails', async () => {
    const operators = [{ provider: 'memory', to: 'ops@example.com' }];
    const { house, ada } = await open({ operators, kinds: ['revocation.overdue'] });
    house.provider.inject('ensurePresent', { kind: 'late', delayMilliseconds: minute });
    const id = await ask(house, ada, { workflow: 'automatic' });
    await cancelExecution(ada, { id });
    await house.work();
    house.provider.land();
    house.provider.inject('ensureAbsent', { kind: 'throttle' }, 10_000);
    await house.pass(15 * minute + 30_000);
    expect([house.provider.holds('ada@example.com', access), toldOf('ops')]).toEqual([true, []]);
    for (let turn = 0; turn < 4; turn += 1) await house.pass(minute);
    expect(toldOf('ops')).toEqual(['A revocation at memory is overdue']);
  });

  it('once by two workers at the same time, and after a crash between queue and delivery', async () => {
    const { house, ada } = await open();
    await ask(house, ada);
    await house.database.sql`update messages set delivered_at = null, closed_at = null, receipt = null, attempts = 0`;
    await house.database.sql`update notices set told_at = null`;
    await Promise.all(Array.from({ length: 4 }, () => deliverMessages(house.ctx)));
    await house.pass(hour);
    expect(delivered()).toHaveLength(2);
    expect(await house.database.sql`select 1 from messages`).toHaveLength(2);
  });

  it('for a day, then the message is given up with an alarm', async () => {
    const { house, ada } = await open({ kinds: ['access.active'] });
    house.provider.inject('deliver', { kind: 'throttle' }, 10_000);
    await ask(house, ada, { workflow: 'automatic' });
    for (let turn = 0; turn < 23; turn += 1) await house.pass(hour);
    const failed = () => house.database.sql`select message from ledger where type = 'message.failed'`;
    const undelivered = async () =>
      (await readMetrics(house.ctx, { uptimeMilliseconds: 1, requests: 1 })).undelivered_messages;
    expect([(await failed()).length, await undelivered()]).toEqual([0, 0]);
    for (let turn = 0; turn < 2; turn += 1) await house.pass(hour);
    expect([(await failed()).length, await undelivered()]).toEqual([1, 1]);
    const tries = house.provider.count('deliver');
    await house.pass(day + hour);
    expect([house.provider.count('deliver'), await undelivered()]).toEqual([tries, 0]);
  });

  it('nothing more by a webhook that has answered 410, with one alarm, until the configuration changes', async () => {
    let [status, posted] = [410, 0];
    const server = createServer((_request, response) => {
      posted += 1;
      response.writeHead(status).end();
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    const hook = (description: string) => ({
      ...(catalog({ channels: ['hook'] }) as object),
      providers: {
        ...(approvalCatalog() as { providers: object }).providers,
        hook: {
          provider: 'webhook',
          description,
          config: {
            url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
            secrets: [`whsec_${Buffer.alloc(32, 1).toString('base64')}`],
            allow_private: true,
          },
        },
      },
    });
    cast = await openCast({ catalog: hook('One'), connectors: [webhookConnector as Connector] });
    const { house, ada } = cast;
    await ask(house, ada, { workflow: 'automatic' });
    await ask(house, ada, { workflow: 'automatic', duration: 'PT20M' });
    await house.pass(minute);
    const alarms = () => house.database.sql`select 1 from ledger where type = 'channel.disabled'`;
    expect([posted, (await alarms()).length]).toEqual([1, 1]);
    status = 204;
    await house.applyCatalog(hook('Another'));
    await house.pass(14 * minute);
    expect([posted, (await alarms()).length]).toEqual([2, 1]);
    await new Promise((closed) => server.close(closed));
  });

  it('of a question that could not be delivered before its request was decided: an alarm says so', async () => {
    const { house, ada, grace } = await open({ kinds: ['request.waiting'] });
    house.provider.inject('deliver', { kind: 'throttle' }, 10_000);
    const id = await ask(house, ada);
    await approve(grace, id);
    await house.pass(hour);
    expect(await house.database.sql`select 1 from ledger where type = 'message.failed'`).toHaveLength(2);
  });

  it('of the other requests when one cannot be told, and of that one later', async () => {
    const { house, ada } = await open({ kinds: ['request.waiting'] });
    house.provider.inject('deliver', { kind: 'throttle' }, 4);
    const broken = await ask(house, ada);
    await house.database.sql`delete from messages`;
    await house.database.sql`update notices set told_at = null`;
    const [kept] = await house.database.sql`select excluded from approvals where execution_id = ${broken}`;
    await house.database.sql`update approvals set excluded = '1'`;
    await ask(house, ada);
    await house.pass(minute);
    expect(toldOf('grace')).toHaveLength(1);
    await house.database.sql`update approvals set excluded = ${kept?.excluded} where execution_id = ${broken}`;
    await house.pass(10 * minute);
    expect(toldOf('grace')).toHaveLength(2);
  });

  it('nothing when they have left, although the workflow still names their address', async () => {
    const stage = { approvers: { users: ['grace@example.com', 'alan@example.com'] } };
    cast = await openCast({
      catalog: {
        ...approvalCatalog({ tasks: approvalTasks(stage) }),
        messages: { channels: ['memory'], kinds: ['request.waiting'] },
      },
    });
    const { house, ada, grace } = cast;
    await house.database.sql`update users set deprovisioned_at = app_now() where id = ${grace.actor.id}`;
    await ask(house, ada);
    expect(delivered().map(({ to }) => to)).toEqual(['alan@example.com']);
  });

  it('at the address of now, and nothing of their own requests when they have left', async () => {
    const { house, ada, alan } = await open();
    const { sql } = house.database;
    const id = await ask(house, ada, { workflow: 'automatic', duration: 'PT1H' });
    expect(toldOf('ada')).toEqual(['Access is active: reader']);
    // Another person may have the old address now.
    await sql`update user_identities set email = 'lovelace@example.com', email_folded = 'lovelace@example.com' where subject = 'ada'`;
    await returnAccess(ada, { execution_id: id });
    await house.pass(minute);
    expect([toldOf('ada').length, toldOf('lovelace')]).toEqual([1, ['Access has ended: reader']]);
    const other = await ask(house, alan, { workflow: 'automatic', duration: 'PT1H' });
    await sql`update users set deprovisioned_at = app_now() where id = ${alan.actor.id}`;
    await returnAccess(alan, { execution_id: other });
    await house.pass(minute);
    expect(toldOf('alan')).toEqual(['Access is active: reader']);
  });

  it('without reading history: grants that are gone and messages that are delivered cost nothing', async () => {
    const { house, ada } = await open({ operators: [{ provider: 'memory', to: 'ops@example.com' }], kinds: undefined });
    const { sql } = house.database;
    const old = process.env.CI ? 20_000 : 5_000;
    await ask(house, ada, { workflow: 'automatic' });
    await sql`
      insert into grants (id, execution_id, step_key, entitlement_id, user_id, identity, access, known_as, duration, activate_by, activated_at, expires_at, created_at, ended_at, ended_reason, gone_at)
      select gen_random_uuid(), execution_id, 'old ' || n, entitlement_id, user_id, identity, access, known_as, duration, activate_by, app_now() - interval '2 days',
        app_now() - interval '1 day', app_now() - interval '3 days', app_now() - interval '1 day', 'returned', app_now() - interval '1 day'
      from grants, generate_series(1, ${old}::int) n`;
    await sql`
      with told as (
        insert into notices (key, kind, execution_id, told_at)
        select 'old ' || n, 'access.active', execution_id, app_now() from notices, generate_series(1, ${old}::int) n
        where kind = 'access.active' returning id, key)
      insert into messages (id, key, notice_id, provider, recipient, delivered_at, closed_at)
      select gen_random_uuid(), key, id, 'memory', 'ada@example.com', app_now(), app_now() from told`;
    await sql`
      insert into notices (key, kind, execution_id, ends_at)
      select 'new', 'access.ending', execution_id, app_now() + interval '9 minutes' from notices where kind = 'access.active' limit 1`;
    const tables = ['grants', 'messages', 'notices'];
    for (const table of tables) await sql`analyze ${sql(table)}`;
    const read = await house.ctx.db.transaction(async (tx) => {
      const count = async () => {
        const rows = await tx.execute<{ relname: string; seq_scan: string; idx_tup_fetch: string }>(
          `select relname, seq_scan, idx_tup_fetch from pg_stat_xact_user_tables where relname in ('${tables.join("','")}') order by 1`,
        );
        return rows.map(
          ({ relname, seq_scan: scans, idx_tup_fetch: rows }) => [relname, Number(scans), Number(rows)] as const,
        );
      };
      // The counters of a connection still include the reads of its transactions in the last second.
      const before = await count();
      await deliverMessages({ ...house.ctx, db: tx as unknown as typeof house.ctx.db });
      const after = await count();
      return after.map(([table, scans, rows], index) => {
        const [, scansBefore = 0, rowsBefore = 0] = before[index] ?? [];
        return { table, scans: scans - scansBefore, few: rows - rowsBefore < 100 };
      });
    });
    expect(read).toEqual(tables.map((table) => ({ table, scans: 0, few: true })));
    expect(toldOf('ada')).toEqual(['Access is active: reader', 'Access ends in 9 minutes: reader']);
  });

  it('in words of theirs that begin no other header, with any name of the role', async () => {
    const { house, ada, grace } = await open();
    const id = await ask(house, ada);
    await house.database.sql`
      update executions set input = jsonb_set(input, '{role}', '"reader\\r\\nBcc: mallory@evil.example"') where id = ${id}`;
    await approve(grace, id);
    await house.work();
    for (const { title } of delivered()) expect(title).not.toMatch(/[\r\n]/);
  });

  it('on channels that exist: a configuration with another one is rejected at its key', async () => {
    const { house } = await open();
    const wrong: [object, string][] = [
      [{ channels: ['nowhere'] }, 'messages.channels[0]'],
      [{ channels: ['login'] }, 'messages.channels[0]'],
      [{ channels: [] }, 'messages.channels'],
      [{ operators: [{ provider: 'login', to: 'ops@example.com' }] }, 'messages.operators[0].provider'],
      [{ operators: [{ provider: 'memory', to: 'x' }], kinds: ['access.active'] }, 'messages.operators'],
      [{ kinds: ['access.begun'] }, 'messages.kinds[0]'],
      [{ digest: '8 am' }, 'messages.digest'],
      [{ time_zone: 'Mars/Olympus' }, 'messages.time_zone'],
      [{ time_zone: '+02:00' }, 'messages.time_zone'],
    ];
    for (const [messages, path] of wrong) {
      const error = await house.applyCatalog(catalog(messages)).catch((reason: unknown) => reason);
      expect((error as { issues: { path: string }[] }).issues.map((issue) => issue.path)).toContain(path);
    }
  });
});
