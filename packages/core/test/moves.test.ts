import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type ActorContext,
  type Context,
  cancelExecution,
  createSignal,
  getExecution,
  returnAccess,
  signalExecution,
} from '@belay/core';
import { prepareMove, storeOutcome, takeTurn, writePrepared } from '@belay/engine';
import { sweep } from '@belay/testkit/sweep';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  approve,
  beginOnly,
  type Cast,
  catalogWith,
  minute,
  openCast,
  type Person,
  request,
  second,
  statusOf,
} from './support/stories.js';

const needsJq = { then: '${ [.] | length }' };
const told = {
  call: 'access.notify',
  with: { provider: 'memory', to: 'ada', message: '${ [1] | length | tostring }' },
};

/** Returns a context that fails when an expression is evaluated while a transaction is open. */
function watched(ctx: Context): { ctx: Context; evaluated(): number } {
  const open = new AsyncLocalStorage<boolean>();
  let evaluated = 0;
  const transaction = (work: (tx: never) => Promise<unknown>) =>
    ctx.db.transaction((tx) => open.run(true, () => work(tx as never)));
  const db = new Proxy(ctx.db, {
    get: (target, property) => (property === 'transaction' ? transaction : Reflect.get(target, property)),
  });
  const evaluate: Context['evaluate'] = async (...given) => {
    if (open.getStore()) throw new Error('An expression runs inside a transaction');
    evaluated += 1;
    return ctx.evaluate(...given);
  };
  return { ctx: { ...ctx, db, evaluate }, evaluated: () => evaluated };
}

describe('a move of an execution', () => {
  let cast: Cast;
  afterEach(() => cast[Symbol.asyncDispose]());

  describe('with expressions everywhere', () => {
    const stages = [{ approvers: { groups: ['approvers'] } }];
    const tasks = [
      { before: { set: needsJq } },
      { approve: { call: 'access.approve', with: { stages }, output: { as: '${ {approved, n: ([.] | length)} }' } } },
      {
        hear: {
          listen: { to: { one: { with: { type: '${ test("^go") }' } } } },
          metadata: { from: { groups: ['approvers'] } },
        },
      },
      { pause: { wait: { seconds: 1 }, output: { as: needsJq } } },
      { tell: told },
      {
        guarded: {
          try: [
            { grant: { call: 'access.grant', output: { as: '${ {n: ([.] | length)} }' } } },
            { hold: { call: 'access.hold', output: { as: '${ {n: ([.] | length)} }' } } },
          ],
          catch: {
            errors: { with: { type: 'https://belay.dev/errors/cancelled' } },
            do: [{ clean: { set: needsJq } }],
          },
        },
      },
      { after: { set: needsJq } },
    ];
    beforeEach(async () => {
      cast = await openCast({ catalog: catalogWith({ everywhere: tasks }) });
    });

    it.each(['returned', 'cancelled', 'expired'])('evaluates none of them inside a transaction (%s)', async (end) => {
      const process = watched(cast.house.ctx);
      const as = (person: Person): Person => ({ ...person, ...process.ctx, actor: person.actor });
      const [ada, grace] = [as(cast.ada), as(cast.grace)];
      const work = async () => {
        for (let pass = 0; pass < 50; pass += 1) {
          const { steps, entitlements } = await sweep(process.ctx);
          if (steps + entitlements === 0) return;
        }
      };
      const id = await request(ada, { workflow: 'everywhere' });
      await work();
      await approve(grace, id);
      await work();
      const { input } = await createSignal(grace, { id, type: 'go' });
      await signalExecution(grace, { id, input });
      await work();
      await cast.house.database.advance(2 * second);
      await work();
      expect((await getExecution(ada, { id })).grants).toMatchObject([{ state: 'active' }]);
      if (end === 'returned') await returnAccess(ada, { execution_id: id });
      if (end === 'cancelled') await cancelExecution(ada, { id });
      await cast.house.database.advance(31 * minute);
      await work();
      expect(await statusOf(ada, id)).toBe(end === 'cancelled' ? 'cancelled' : 'completed');
      expect(process.evaluated()).toBeGreaterThan(6);
    });
  });

  describe('that was decided outside a transaction', () => {
    beforeEach(async () => {
      cast = await openCast({ catalog: catalogWith({ told: [{ tell: told }, { pause: { wait: { hours: 1 } } }] }) });
    });
    const key = '/do/0/tell#0';
    const done = { ok: true, value: { said: 1 } } as const;
    const begun = async (): Promise<string> => {
      const id = await request(cast.ada, { workflow: 'told' });
      await beginOnly(cast.house, id);
      return id;
    };
    const open = async (id: string) => {
      const rows = await cast.house.database.sql`
        select key from steps where execution_id = ${id} and status = 'open' order by key`;
      return rows.map((row) => row.key as string);
    };

    it('is written once, where the execution has not moved since', async () => {
      const { ctx } = cast.house;
      const id = await begun();
      const one = await prepareMove(ctx, id, key, done);
      const other = await prepareMove(ctx, id, key, done);
      if (!one || !other) throw new Error('nothing was prepared');
      expect(await ctx.db.transaction((tx) => writePrepared(ctx, tx, one))).toBe(true);
      expect(await ctx.db.transaction((tx) => writePrepared(ctx, tx, other))).toBe(false);
      expect(await open(id)).toEqual(['/do/1/pause#0']);
      const { history } = await getExecution(cast.ada, { id });
      expect(
        history.filter(({ task, event_type }) => task === '/do/0/tell' && /completed/.test(event_type)),
      ).toHaveLength(1);
      expect(await prepareMove(ctx, id, key, done)).toBeNull();
    });

    it('has a turn apply the outcome that was stored with the step instead; the first one counts', async () => {
      const { ctx } = cast.house;
      const id = await begun();
      expect(await storeOutcome(ctx.db, { executionId: id, key, outcome: done })).toBe(true);
      const refused = { ok: false, fault: { type: 'https://example.com/no', status: 500 } } as const;
      expect(await storeOutcome(ctx.db, { executionId: id, key, outcome: refused })).toBe(false);
      expect(await prepareMove(ctx, id, key, refused)).toBeNull();
      expect(await open(id)).toEqual([key]);
      await cast.house.work();
      expect(await open(id)).toEqual(['/do/1/pause#0']);
      expect(await statusOf(cast.ada, id)).toBe('waiting');
    });

    it('is decided again when a process of the version before has moved the execution', async () => {
      const { ctx, database } = cast.house;
      const id = await begun();
      const move = await prepareMove(ctx, id, key, done);
      if (!move) throw new Error('nothing was prepared');
      await database.sql`update executions set state = state || '{"context": 1}' where id = ${id}`;
      expect(await ctx.db.transaction((tx) => writePrepared(ctx, tx, move))).toBe(false);
    });
  });
});

describe('what is due late', () => {
  let cast: Cast;
  const wait = (name: string, after: object) => ({ [name]: { wait: after } });
  const within = (timeout: object, tasks: object[]) => [{ limited: { do: tasks, timeout: { after: timeout } } }];
  const chain = Array.from({ length: 8 }, (_, index) => wait(`w${index}`, { milliseconds: 100 }));
  beforeEach(async () => {
    const hear = { listen: { to: { one: { with: { type: 'go' } } } }, metadata: { from: { requester: true } } };
    cast = await openCast({
      catalog: catalogWith({
        short: within({ seconds: 1 }, [wait('w', { milliseconds: 100 })]),
        chained: within({ seconds: 1 }, chain),
        'too-long': within({ seconds: 1 }, [...chain, wait('last', { milliseconds: 300 })]),
        heard: within({ seconds: 1 }, [{ hear }]),
        told: [wait('w', { seconds: 1 }), { tell: { ...told, timeout: { after: { seconds: 5 } } } }],
      }),
    });
  });
  afterEach(() => cast[Symbol.asyncDispose]());
  const lateBy = async (milliseconds: number, workflow: string) => {
    const id = await request(cast.ada, { workflow });
    await beginOnly(cast.house, id);
    await cast.house.pass(milliseconds);
    return statusOf(cast.ada, id);
  };

  it('comes in the order of its times: a short wait does not lose to a longer timeout', async () => {
    expect(await lateBy(10 * second, 'short')).toBe('completed');
  });

  it('does not drift: waits one after the other end when they would have', async () => {
    expect(await lateBy(10 * second, 'chained')).toBe('completed');
    expect(await lateBy(10 * second, 'too-long')).toBe('faulted');
  });

  it('counts an event from when it came, though it is looked at later than the timeout', async () => {
    const { house, ada } = cast;
    const heard = async (after: number) => {
      const id = await request(ada, { workflow: 'heard' });
      await beginOnly(house, id);
      await house.database.advance(after);
      const { input } = await createSignal(ada as ActorContext, { id, type: 'go' });
      await signalExecution(ada, { id, input });
      await house.pass(10 * second);
      return statusOf(ada, id);
    };
    expect(await heard(500)).toBe('completed');
    expect(await heard(1_500)).toBe('faulted');
  });

  it('leaves a call that is made late the whole of its time', async () => {
    expect(await lateBy(minute, 'told')).toBe('completed');
  });

  it('takes no turn where nothing is due', async () => {
    const id = await request(cast.ada, { workflow: 'short' });
    await beginOnly(cast.house, id);
    expect(await takeTurn(cast.house.ctx, id)).toBeNull();
    const [row] = await cast.house.database.sql`select version from executions where id = ${id}`;
    expect(row?.version).toBe(1);
  });
});
