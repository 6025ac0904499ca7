import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { addComment, type Context, cancelExecution, deliverMessages } from '@belay/core';
import { type Connector, webhookConnector } from '@belay/providers';
import { newId } from '@belay/testkit/house';
import { sweepSilently } from '@belay/testkit/sweep';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { claimMessage, drawMessages } from '../src/messages/draw.js';
import { tellNotices } from '../src/messages/tell.js';
import { type Urgency, urgencies } from '../src/messages/urgency.js';
import {
  approve,
  ask,
  type Cast,
  catalogWith,
  minute,
  openCast,
  type Person,
  request,
  second,
} from './support/stories.js';

const tell = { users: ['wilma@example.com'] };

function catalogOf(role: object = {}, messages: object = {}): object {
  return {
    ...catalogWith({}, { break_glass: { tell }, ...role }),
    server: { limits: { open_requests: 1_000 } },
    messages: { channels: ['memory'], ...messages },
  };
}

/** A message that waits, and how many were taken since: of each cause, and of its own cause to each recipient. */
interface Waiting {
  cause: number;
  to: number;
  causes: number[];
  recipients: number[];
}

const until = (check: () => boolean) => vi.waitFor(() => expect(check()).toBe(true), { timeout: 10_000, interval: 5 });

describe('messages take turns', () => {
  let cast: Cast | undefined;
  afterEach(async () => {
    await cast?.[Symbol.asyncDispose]();
    cast = undefined;
  });
  const open = async (catalog = catalogOf(), more: Parameters<typeof openCast>[0] = {}): Promise<Cast> => {
    cast = await openCast({ catalog, ...more });
    return cast;
  };
  const house = () => (cast as Cast).house;
  const delivered = () => house().provider.messages;

  /** Queues messages that need no request, as notices that were told would. */
  async function queue(
    { cause, to, urgency = urgencies.usual, provider = 'memory' }: Filler,
    count: number,
    name = 'filler',
  ): Promise<void> {
    const { sql } = house().database;
    await sql`
      with told as (
        insert into notices (key, kind, told_at)
        select ${`${name} `} || n, 'people.joined', app_now() from generate_series(1, ${count}::int) n returning id, key)
      insert into messages (id, key, notice_id, cause, urgency, provider, recipient, text)
      select gen_random_uuid(), key, id, ${cause}, ${urgency}, ${provider}, ${to} || abs(hashtext(key)) % 30, key from told`;
  }
  interface Filler {
    cause: string;
    to: string;
    urgency?: number;
    provider?: string;
  }

  /** Delivers until a message has this title, for some passes; returns how many were delivered before it, or null. */
  async function untilTold(title: string): Promise<number | null> {
    const before = delivered().length;
    const found = () => delivered().findIndex((message) => message.title === title);
    const stop = new AbortController();
    // The real client is stopped as soon as the message is seen, so that the test need not deliver the others.
    const ctx: Context = {
      ...house().ctx,
      crashpoint: (name) => {
        if (name === 'message delivered' && found() >= 0) stop.abort();
      },
    };
    for (let pass = 0; pass < 3 && found() < 0; pass += 1) await deliverMessages(ctx, { signal: stop.signal });
    return found() < 0 ? null : found() - before;
  }

  /** Does what an emergency needs, except to tell of it. */
  async function useEmergency({ house: { ctx }, ada }: Cast): Promise<void> {
    await request(ada, { workflow: 'automatic' });
    for (let round = 0; round < 4; round += 1) await sweepSilently(ctx);
  }
  const emergency = 'Emergency access: ada uses reader';

  it.each<[string, (people: Cast) => Person, Urgency]>([
    ['usual ones of another person', ({ grace }) => grace, urgencies.usual],
    ['urgent ones of another person', ({ grace }) => grace, urgencies.urgent],
    ['emergencies of another person', ({ grace }) => grace, urgencies.alarm],
    ['usual ones of the same person', ({ ada }) => ada, urgencies.usual],
    ['urgent ones of the same person', ({ ada }) => ada, urgencies.urgent],
  ])('an emergency is told with 10,000 messages queued before it as with none: %s', async (_, of, urgency) => {
    const people = await open();
    await queue({ cause: of(people).actor.id, to: 'approver', urgency }, 10_000);
    await people.house.database.sql`analyze`;
    await useEmergency(people);
    expect(await untilTold(emergency)).toBeLessThan(100);
  });

  it('an emergency is told when 60 accounts have queued 50 emergencies each', async () => {
    const people = await open();
    for (let account = 0; account < 60; account += 1)
      await queue({ cause: newId(), to: 'approver', urgency: urgencies.alarm }, 50, `account ${account}`);
    await useEmergency(people);
    expect(await untilTold(emergency)).toBeLessThan(200);
  });

  it('what is usual is told beside thousands of emergencies, and the notice of it too', async () => {
    const people = await open(catalogOf({}, { kinds: ['request.waiting', 'break_glass.used'] }));
    const { house, ada, grace } = people;
    await queue({ cause: grace.actor.id, to: 'boss', urgency: urgencies.alarm }, 3_000);
    await house.database.sql`
      insert into notices (key, kind, execution_id, cause, urgent)
      select 'fake ' || n, 'break_glass.used', null, ${grace.actor.id}, true from generate_series(1, 300) n`;
    await request(ada);
    await sweepSilently(house.ctx);
    expect(await untilTold('A request waits for your decision')).toBeLessThan(200);
  });

  it('a requester who requests and cancels holds up no other person: each gets a turn', async () => {
    const people = await open();
    const { ada, grace } = people;
    await queue({ cause: grace.actor.id, to: 'approver' }, 5_000);
    await queue({ cause: ada.actor.id, to: 'approver' }, 1, 'hers');
    expect(await untilTold('hers 1')).toBeLessThan(100);
  });

  it('are sent for as long as some are due, and not a fixed number a sweep', async () => {
    const { house, ada } = await open();
    await queue({ cause: ada.actor.id, to: 'approver' }, 500);
    expect(await deliverMessages(house.ctx)).toBe(500);
    expect(delivered()).toHaveLength(500);
  });

  it('stop when the worker stops', async () => {
    const { house, ada } = await open();
    await queue({ cause: ada.actor.id, to: 'approver' }, 500);
    expect(await deliverMessages(house.ctx, { signal: AbortSignal.abort() })).toBe(0);
  });

  it('are drawn so that no cause, and no recipient of a cause, waits for more than one of each other', async () => {
    const { house } = await open();
    const { ctx } = house;
    const { sql } = house.database;
    const people = [newId(), newId(), newId(), newId()];
    const arrival = fc.record({
      cause: fc.nat(3),
      to: fc.nat(2),
      count: fc.oneof(
        { weight: 3, arbitrary: fc.integer({ min: 1, max: 3 }) },
        { weight: 1, arbitrary: fc.constant(70) },
      ),
    });
    const rounds = fc.array(fc.array(arrival, { maxLength: 4 }), { minLength: 1, maxLength: 6 });
    let run = 0;
    await fc.assert(
      fc.asyncProperty(rounds, async (arrivals) => {
        run += 1;
        const lane = { provider: `channel ${run}`, urgency: urgencies.usual };
        const waiting = new Map<string, Waiting>();
        for (let round = 0; round < arrivals.length || waiting.size > 0; round += 1) {
          for (const [nth, { cause, to, count }] of (arrivals[round] ?? []).entries()) {
            const name = `run ${run} ${round} ${nth}`;
            const rows = await sql<{ id: string }[]>`
              with told as (
                insert into notices (key, kind, told_at)
                select ${`${name} `} || n, 'people.joined', app_now() from generate_series(1, ${count}::int) n returning id, key)
              insert into messages (id, key, notice_id, cause, provider, recipient, text)
              select gen_random_uuid(), key, id, ${people[cause] ?? ''}, ${lane.provider}, ${String(to)}, key from told returning id`;
            for (const { id } of rows) waiting.set(id, { cause, to, causes: [0, 0, 0, 0], recipients: [0, 0, 0] });
          }
          const drawn = await drawMessages(ctx, lane);
          expect(drawn.length).toBe(Math.min(50, waiting.size));
          for (const id of drawn) {
            const taken = waiting.get(id);
            if (!taken) throw new Error('It was drawn twice');
            expect(await claimMessage(ctx, id)).not.toBeNull();
            await sql`update messages set closed_at = app_now() where id = ${id}`;
            waiting.delete(id);
            const own = taken.causes[taken.cause] ?? 0;
            for (const others of taken.causes) expect(others).toBeLessThanOrEqual(own + 2);
            const same = taken.recipients[taken.to] ?? 0;
            for (const others of taken.recipients) expect(others).toBeLessThanOrEqual(same + 2);
            for (const other of waiting.values()) {
              other.causes[taken.cause] = (other.causes[taken.cause] ?? 0) + 1;
              if (other.cause !== taken.cause) continue;
              other.recipients[taken.to] = (other.recipients[taken.to] ?? 0) + 1;
            }
          }
        }
      }),
      { numRuns: process.env.BELAY_TEST_LONG ? 100 : 12 },
    );
  });

  it('of closed approvals are dropped before they are sent, and a question that was delivered is recalled, once', async () => {
    const { house, ada } = await open({
      ...catalogWith({}),
      messages: { channels: ['memory'], kinds: ['request.waiting'] },
    });
    const seen = await ask(house, ada);
    expect(house.provider.count('deliver')).toBe(2);
    // Three more: one whose notice was not told, one whose messages were queued, and one whose messages were attempted.
    house.provider.inject('deliver', { kind: 'lost-answer' }, 2);
    const attempted = await ask(house, ada);
    const queued = await request(ada);
    await sweepSilently(house.ctx);
    await deliverMessages(house.ctx, { signal: AbortSignal.abort() });
    await tellNotices(house.ctx, { told: async () => {} });
    const untold = await request(ada);
    await sweepSilently(house.ctx);
    const sent = house.provider.count('deliver');
    for (const id of [seen, attempted, queued, untold]) await cancelExecution(ada, { id });
    for (let turn = 0; turn < 3; turn += 1) await house.pass(minute);
    expect([sent, house.provider.count('deliver'), house.provider.count('revise')]).toEqual([4, 4, 4]);
    expect(await house.database.sql`select 1 from messages where closed_at is null`).toHaveLength(0);
    for (const { actions } of delivered()) expect(actions.map(({ kind }) => kind)).toEqual(['link']);
  });

  it('rest when their receiver asks for a pause, except emergencies', async () => {
    const { house, ada, grace } = await open();
    await queue({ cause: ada.actor.id, to: 'approver' }, 100);
    house.provider.inject('deliver', { kind: 'throttle', afterMilliseconds: 50 * second });
    await deliverMessages(house.ctx);
    const first = house.provider.count('deliver');
    expect(first).toBeLessThanOrEqual(50);
    await queue({ cause: grace.actor.id, to: 'boss', urgency: urgencies.alarm }, 1, 'alarm');
    await deliverMessages(house.ctx);
    expect(house.provider.count('deliver')).toBe(first + 1);
    await house.pass(minute);
    expect(delivered()).toHaveLength(101);
  });

  it('are delivered at least once when a worker dies with some of them, and others go on meanwhile', async () => {
    const { house, ada } = await open();
    await queue({ cause: ada.actor.id, to: 'approver' }, 100);
    house.provider.inject('deliver', { kind: 'hang' }, 2);
    // Another process, which does not come back from its calls before another one has delivered everything.
    const { catalog } = house;
    const other: Context = {
      ...house.ctx,
      catalog: { current: () => catalog.current(), client: (id) => catalog.client(id) },
    };
    const stop = new AbortController();
    const dead = deliverMessages({ ...other, timing: { ...house.ctx.timing, callTimeout: 5_000 } }, stop);
    await until(() => house.provider.count('deliver') === 2);
    await house.work();
    expect(delivered()).toHaveLength(98);
    await house.pass(minute);
    expect(delivered()).toHaveLength(100);
    stop.abort();
    await dead;
    expect(await house.database.sql`select 1 from messages where closed_at is null`).toHaveLength(0);
  });

  it('of other channels wait for none that does not respond, and neither does what is queued later', async () => {
    const held = new Set<() => void>();
    const server = createServer((_request, response) => void held.add(() => response.writeHead(204).end()));
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const config = { url, secrets: [`whsec_${Buffer.alloc(32, 1).toString('base64')}`], allow_private: true };
    const base = catalogOf() as { providers: object };
    const providers = { ...base.providers, hook: { provider: 'webhook', config } };
    const { house, ada } = await open({ ...base, providers }, { connectors: [webhookConnector as Connector] });
    const cause = ada.actor.id;
    await queue({ cause, to: 'approver', provider: 'hook' }, 40, 'dead');
    await queue({ cause, to: 'approver' }, 40);
    const first = deliverMessages(house.ctx);
    await until(() => delivered().length === 40 && held.size === 2);
    // The next sweep, while the first one still waits.
    await queue({ cause, to: 'approver' }, 10, 'later');
    await queue({ cause, to: 'boss', provider: 'hook', urgency: urgencies.alarm }, 1, 'alarm');
    const second = deliverMessages(house.ctx);
    await until(() => delivered().length === 50 && held.size === 3);
    const opening = setInterval(() => {
      for (const end of held) end();
      held.clear();
    }, 10);
    await Promise.all([first, second]);
    clearInterval(opening);
    await new Promise((closed) => server.close(closed));
  });

  it('are caused by the requester, and a comment by its author', async () => {
    const { house, ada, grace } = await open();
    const id = await ask(house, ada);
    await addComment(grace, { id, text: 'Why?' });
    await addComment(ada, { id, text: 'Because' });
    await approve(grace, id);
    await house.work();
    const causes = async (kind: string) =>
      (
        await house.database.sql`
        select distinct m.cause, n.cause as of from messages m left join notices n on n.id = m.notice_id or n.approval_id = m.approval_id
        where n.kind = ${kind} order by 1`
      ).map(({ cause, of }) => [cause, of]);
    expect(await causes('request.decided')).toEqual([[ada.actor.id, ada.actor.id]]);
    expect(await causes('request.waiting')).toEqual([[ada.actor.id, ada.actor.id]]);
    const both = [ada.actor.id, grace.actor.id].sort();
    expect(await causes('request.comment')).toEqual(both.map((one) => [one, one]));
  });
});
