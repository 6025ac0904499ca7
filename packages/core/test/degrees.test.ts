import { getExecution, listAccess, returnAccess } from '@belay/core';
import { approvalCatalog } from '@belay/testkit/house';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Cast, minute, openCast, type Person, request, runOut, second } from './support/stories.js';

// BELAY_TEST_LONG sets the number of sequences and makes them longer, BELAY_TEST_SEED the seed.
const long = Number(process.env.BELAY_TEST_LONG ?? 0);
const seed = Number(process.env.BELAY_TEST_SEED ?? 20260301);

/** The degrees of the slot `shop`, the lowest first: a person has one of them at a time. */
const degrees = ['pull', 'push', 'admin'] as const;
type Degree = (typeof degrees)[number];
const inShop = (degree: Degree) => ({ role: `${degree} on shop` });
const longest = 'PT8H';

const roleOf = (...names: Degree[]) => ({
  description: `May ${names.join(' and ')}`,
  providers: ['memory'],
  workflows: ['automatic'],
  inherits: names.map((degree) => `memory:${degree} on shop`),
  permissions: { groups: ['engineers'] },
  max_duration: longest,
  default_duration: 'PT1H',
});
const catalog = {
  ...approvalCatalog(),
  providers: { memory: { provider: 'memory', config: { degrees: [...degrees] } } },
  roles: {
    ...Object.fromEntries(degrees.map((degree) => [degree, roleOf(degree)])),
    several: roleOf('pull', 'push'),
  },
};

let cast: Cast;
const open = async () => {
  cast = await openCast({ catalog });
};
const take = async (role: Degree | 'several', duration = 'PT2H', person: Person = cast.ada) => {
  const id = await request(person, { role, workflow: 'automatic', duration });
  await cast.house.work();
  return id;
};
const give = async (id: string) => {
  await returnAccess(cast.ada, { execution_id: id });
  await cast.house.work();
};
const held = () => cast.house.provider.held().map(({ access }) => String(access.role).split(' ')[0]);
const readRow = async () => (await cast.house.database.sql`select * from entitlements`)[0];
const wrote = (row: Awaited<ReturnType<typeof readRow>>) => row && { ...row, due_at: null, fence: null, claim: null };
const rejected = { status: 'faulted', error: { status: 409, type: 'https://belay.dev/errors/conflict' } };
const endQuarantine = () => cast.house.pass(cast.house.ctx.timing.quarantine + minute);

describe('access with several degrees in one slot', () => {
  beforeEach(open);
  afterEach(() => cast[Symbol.asyncDispose]());

  it.each<[Degree, Degree]>([
    ['pull', 'push'],
    ['push', 'pull'],
  ])('is %s alone while that is held: %s is rejected, and leaves nothing on the row', async (first, second_) => {
    const { house, ada } = cast;
    const one = await take(first);
    const before = await readRow();
    const other = await take(second_, longest);
    expect(await getExecution(ada, { id: other })).toMatchObject(rejected);
    expect((await getExecution(ada, { id: other })).error?.detail).toContain(`${first} on shop`);
    expect(await readRow()).toEqual(before);
    expect((await listAccess(ada)).access).toMatchObject([{ execution_id: one, access: inShop(first) }]);
    // A call that is repeated later, for whatever reason, makes what was committed.
    await house.database.sql`update entitlements set state = 'granting', due_at = app_now()`;
    await house.work();
    expect(held()).toEqual([first]);
    await give(one);
    expect(held()).toEqual([]);
    await runOut(house);
    expect(held()).toEqual([]);
  });

  it('can be requested in another degree when the slot was verified as empty for good', async () => {
    const { house, ada } = cast;
    await give(await take('pull'));
    expect(held()).toEqual([]);
    // Until then, a call that is still on its way could put the earlier degree back.
    expect(await getExecution(ada, { id: await take('push') })).toMatchObject(rejected);
    await endQuarantine();
    expect(await readRow()).toMatchObject({ state: 'absent' });
    await take('push');
    expect(held()).toEqual(['push']);
    await runOut(house);
    expect(held()).toEqual([]);
  });

  it('is rejected in another degree while its revocation fails', async () => {
    const { house, ada } = cast;
    const id = await take('push');
    house.provider.inject('ensureAbsent', { kind: 'throttle' }, 3);
    await give(id);
    expect(held()).toEqual(['push']);
    expect(await getExecution(ada, { id: await take('pull') })).toMatchObject(rejected);
    await runOut(house);
    expect(held()).toEqual([]);
  });

  it('can be held in the same degree by two requests, until the later end', async () => {
    const { house } = cast;
    const [one] = [await take('push', 'PT1H'), await take('push', 'PT2H')];
    await give(one);
    expect(held()).toEqual(['push']);
    await house.pass(121 * minute);
    expect(held()).toEqual([]);
  });

  it('is not granted in two degrees by one request', async () => {
    const { house, ada } = cast;
    expect(await getExecution(ada, { id: await take('several') })).toMatchObject(rejected);
    expect([held(), await house.database.sql`select id from grants`]).toEqual([[], []]);
  });

  it('is granted in one degree when two are requested at once', async () => {
    const { house } = cast;
    for (let round = 0; round < 10; round += 1) {
      const person = await house.person(`person-${round}`, ['engineers']);
      house.provider.options.people?.push({
        id: person.actor.email,
        name: person.actor.name,
        email: person.actor.email,
      });
      await Promise.all(degrees.map((role) => request(person, { role, workflow: 'automatic', duration: 'PT2H' })));
      await house.work();
      expect(house.provider.held().filter(({ identity }) => identity === person.actor.email)).toHaveLength(1);
      const rows = await house.database.sql`select g.access from grants g join entitlements e on e.id = g.entitlement_id
        where g.identity = ${person.actor.email}`;
      expect(rows).toHaveLength(1);
    }
  });

  it('is removed in the degree that the holder gave themselves', async () => {
    const { house } = cast;
    await take('push', 'PT1H');
    house.provider.remove('ada@example.com', inShop('push'));
    house.provider.put('ada@example.com', inShop('admin'));
    await runOut(house);
    expect(held()).toEqual([]);
    expect(await readRow()).toMatchObject({ state: 'absent' });
  });

  it('is rejected where the person has another degree outside Belay, which stays', async () => {
    const { house, ada } = cast;
    house.provider.put('ada@example.com', inShop('pull'));
    const id = await take('push');
    expect(await getExecution(ada, { id })).toMatchObject({ error: { type: 'https://belay.dev/errors/held-outside' } });
    await runOut(house);
    expect(held()).toEqual(['pull']);
  });

  it('is what was committed, also when the labels of the row say something else', async () => {
    const { house } = cast;
    const id = await take('pull');
    const before = wrote(await readRow());
    await house.database.sql`update entitlements set identity = 'nonsense', access = '{"role": "admin on shop"}',
      state = 'granting', due_at = app_now()`;
    await house.work();
    expect(held()).toEqual(['pull']);
    expect(before).toMatchObject({ names: [{ identity: 'ada@example.com', access: inShop('pull') }] });
    await give(id);
    expect(held()).toEqual([]);
  });
});

type Operation =
  | { do: 'take'; degree: Degree; minutes: number }
  | { do: 'give'; pick: number }
  | { do: 'change'; degree: Degree }
  | { do: 'pass'; milliseconds: number }
  | {
      do: 'fault';
      operation: 'holds' | 'ensurePresent' | 'ensureAbsent';
      kind: 'throttle' | 'lost-answer' | 'late' | 'fails-later';
    }
  | { do: 'mislabel' };

const some = fc.constantFrom(...degrees);
const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('take' as const), degree: some, minutes: fc.constantFrom(1, 10, 60) }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('give' as const), pick: fc.nat(5) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('change' as const), degree: some }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('pass' as const),
      milliseconds: fc.constantFrom(second, 46 * second, 5 * minute, 16 * minute),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('fault' as const),
      operation: fc.constantFrom('holds' as const, 'ensurePresent' as const, 'ensureAbsent' as const),
      kind: fc.constantFrom('throttle' as const, 'lost-answer' as const, 'late' as const, 'fails-later' as const),
    }),
  },
  { weight: 1, arbitrary: fc.constant<Operation>({ do: 'mislabel' }) },
);

describe('two degrees in one slot, in any sequence', () => {
  beforeAll(open);
  afterAll(() => cast[Symbol.asyncDispose]());

  /** The degree that the holder has given themselves since Belay's last change of the slot. */
  let own: string | undefined;
  let requests: string[] = [];

  async function play(one: Operation): Promise<void> {
    const { house, ada } = cast;
    const { provider } = house;
    if (one.do === 'take')
      requests.push(await request(ada, { role: one.degree, workflow: 'automatic', duration: `PT${one.minutes}M` }));
    if (one.do === 'give') {
      const id = requests[one.pick % Math.max(1, requests.length)];
      if (id) await returnAccess(ada, { execution_id: id }).catch(() => {});
    }
    const [now] = provider.held();
    if (one.do === 'change' && now) {
      provider.remove(now.identity, now.access);
      provider.put(now.identity, inShop(one.degree), now.id);
      own = one.degree;
    }
    if (one.do === 'fault') {
      provider.inject(
        one.operation,
        one.kind === 'late' ? { kind: 'late', delayMilliseconds: minute } : { kind: one.kind },
      );
    }
    if (one.do === 'mislabel') {
      await house.database.sql`update entitlements set identity = 'nonsense', access = '{"role": "admin on shop"}'`;
    }
    // A call lands within its time (R5): before the clock goes on.
    if (one.do === 'pass') {
      provider.land();
      await house.pass(one.milliseconds);
    } else await house.work();
  }

  async function check(): Promise<void> {
    const { sql } = cast.house.database;
    const [row] = await sql<
      { state: string; names: { access: { role: string } }[] }[]
    >`select state, names from entitlements`;
    const owed = await sql<{ role: string }[]>`
      select distinct access ->> 'role' as role from grants where gone_at is null`;
    expect(owed.length).toBeLessThanOrEqual(1);
    const committed = new Set((row?.names ?? []).map(({ access }) => access.role));
    const [now] = cast.house.provider.held();
    expect(cast.house.provider.held().length).toBeLessThanOrEqual(1);
    if (row && row.state !== 'absent') expect(committed.size).toBe(1);
    if (owed[0]) expect([...committed]).toEqual([owed[0].role]);
    if (!now) {
      own = undefined;
      return;
    }
    // Nothing is held that Belay does not know of, and in no other degree than the approved one, except by the holder's own doing.
    expect(row?.state).not.toBe('absent');
    const mine = own === undefined ? [] : [inShop(own as Degree).role];
    expect([...committed, ...mine]).toContain(now.access.role);
  }

  it('never has more than what is approved, and nothing at the end', { timeout: 240_000 }, async () => {
    const sequence = fc.array(operation, { minLength: 4, maxLength: long ? 40 : 16 });
    await fc.assert(
      fc.asyncProperty(sequence, async (operations) => {
        requests = [];
        own = undefined;
        for (const one of operations) {
          await play(one);
          await check();
        }
        cast.house.provider.land();
        await runOut(cast.house);
        await runOut(cast.house);
        expect(held()).toEqual([]);
        const left = await cast.house.database.sql`select state from entitlements where state <> 'absent'`;
        expect(left).toEqual([]);
      }),
      { seed, numRuns: long || 40 },
    );
  });
});
