import { getExecution, returnAccess } from '@belay/core';
import { performStep } from '@belay/engine';
import type { Connector } from '@belay/providers';
import { createMemoryConnector, createMemoryProvider, type MemoryProvider } from '@belay/providers/testkit';
import fc from 'fast-check';
import { afterEach, expect, it } from 'vitest';
import { gateOf } from './support/gate.js';
import { access, ask, type Cast, catalogWith, minute, openCast, request, runOut } from './support/stories.js';

// BELAY_TEST_ROUNDS sets the number of sequences, BELAY_TEST_SEED the seed.
const rounds = Number(process.env.BELAY_TEST_ROUNDS ?? 25);
const seed = Number(process.env.BELAY_TEST_SEED ?? 20260301);

const servers = ['one', 'two'] as const;

/** Returns a connector whose address is `<server>/<database>`: access is held by the server, whichever database is connected to. */
function serverConnector(states: ReadonlyMap<string, MemoryProvider>): Connector {
  const serverOf = (address: string) => address.split('/', 1)[0] ?? '';
  const shape = createMemoryConnector();
  return {
    ...shape,
    type: 'server',
    create: (config, tools) => {
      const { address = '' } = config as { address?: string };
      const client = createMemoryConnector(states.get(serverOf(address))).create(config as never, tools);
      if (!client.authorizer) throw new Error('The memory connector has an authorizer');
      return { ...client, authorizer: { ...client.authorizer, realm: serverOf } };
    },
  } as Connector;
}

type Operation = { do: 'ask'; through: number[] } | { do: 'return'; pick: number } | { do: 'pass'; minutes: number };

const operations = fc.record({
  // The server and the database of each provider, drawn with repetitions.
  providers: fc.array(fc.tuple(fc.constantFrom(...servers), fc.constantFrom('a', 'b')), { minLength: 2, maxLength: 4 }),
  operations: fc.array(
    fc.oneof(
      fc.record({ do: fc.constant('ask' as const), through: fc.array(fc.nat(3), { minLength: 1, maxLength: 3 }) }),
      fc.record({ do: fc.constant('return' as const), pick: fc.nat(9) }),
      fc.record({ do: fc.constant('pass' as const), minutes: fc.constantFrom(1, 6, 20, 60) }),
    ),
    { minLength: 3, maxLength: 12 },
  ),
});

let cast: Cast | undefined;
afterEach(async () => {
  await cast?.[Symbol.asyncDispose]();
  cast = undefined;
});

function openStates(): Map<string, MemoryProvider> {
  const people = [{ id: 'ada@example.com', name: 'ada', email: 'ada@example.com' }];
  return new Map(servers.map((name) => [name as string, createMemoryProvider({ now: () => new Date(0), people })]));
}

/** Returns a catalog with the providers `p0`, `p1` and so on at these addresses, and a role `at_<provider>` for each. */
function catalogAt(places: readonly string[]): object {
  const base = catalogWith({}) as { providers: object; roles: { reader: object } };
  const providers = places.map((address, index) => [`p${index}`, { provider: 'server', config: { address } }] as const);
  const roleAt = (id: string) => ({ ...base.roles.reader, providers: [id], inherits: [`${id}:read`] });
  return {
    ...base,
    providers: Object.fromEntries(providers),
    roles: Object.fromEntries(providers.map(([id]) => [`at_${id}`, roleAt(id)])),
  };
}

it('of two requests at the same time, neither of which saw the access of the other, one is granted', async () => {
  const states = openStates();
  cast = await openCast({ connectors: [serverConnector(states)] });
  const { house, ada } = cast;
  await house.applyCatalog(catalogAt(['one/a', 'one/b']));
  const gate = gateOf(house, 'holds', 'after');
  const slow = await request(ada, { role: 'at_p1', workflow: 'automatic' });
  const [step] = await house.database.sql<{ key: string }[]>`select key from steps where execution_id = ${slow}`;
  const performed = performStep(gate.ctx, { executionId: slow, key: step?.key ?? '' });
  await gate.reached;
  const fast = await ask(house, ada, { role: 'at_p0', workflow: 'automatic', duration: 'PT10M' });
  gate.open();
  await performed;
  await house.work();
  expect((await getExecution(ada, { id: fast })).grants).toMatchObject([{ provider: 'p0', state: 'active' }]);
  const { grants, error } = await getExecution(ada, { id: slow });
  expect(grants).toEqual([]);
  expect(error).toMatchObject({
    detail: expect.stringMatching(/^"p1" leads to the same target as "p0", or to a copy/),
  });
  await runOut(house);
  expect(states.get('one')?.held()).toEqual([]);
});

it('whichever providers lead to one server, an access is held through one, and no end takes what another holds', async () => {
  const states = openStates();
  cast = await openCast({ connectors: [serverConnector(states)] });
  const { house, ada } = cast;
  const { sql } = house.database;

  async function check(places: readonly string[]): Promise<void> {
    const live = await sql<{ target: string; provider: string; active: boolean }[]>`
      select target, e.provider, exists (select from grants g where g.entitlement_id = e.id and g.activated_at is not null
        and g.ended_at is null and g.expires_at > app_now()) as active
      from entitlements e where state <> 'absent'`;
    const held = live.map(({ target }) => target.split('/', 1)[0] ?? '');
    expect(new Set(held).size, 'one access has one row that is not absent').toBe(held.length);
    for (const { target, active } of live) {
      if (active) expect(states.get(target.split('/', 1)[0] ?? '')?.holds('ada@example.com', access)).toBe(true);
    }
    for (const server of servers) {
      const isOwed = held.includes(server);
      expect(isOwed || !states.get(server)?.holds('ada@example.com', access), 'what is held is owed').toBe(true);
    }
    expect(places.length).toBeGreaterThan(0);
  }

  async function play(providers: readonly (readonly [string, string])[], todo: readonly Operation[]): Promise<void> {
    const places = providers.map(([server, database]) => `${server}/${database}`);
    const ids = places.map((_, index) => `p${index}`);
    await house.applyCatalog(catalogAt(places));
    const asked: string[] = [];
    for (const one of todo) {
      if (one.do === 'pass') await house.pass(one.minutes * minute);
      else if (one.do === 'return') {
        const id = asked[one.pick % Math.max(1, asked.length)];
        if (id !== undefined) await returnAccess(ada, { execution_id: id }).catch(() => undefined);
        await house.work();
      } else {
        // Requested before any of them is worked on, so that their intents race.
        for (const index of one.through) {
          asked.push(
            await request(ada, { role: `at_p${index % ids.length}`, workflow: 'automatic', duration: 'PT15M' }),
          );
        }
        await house.work();
      }
      await check(places);
    }
    await runOut(house);
    for (const server of servers) expect(states.get(server)?.held()).toEqual([]);
    // None of them is locked out: when nothing is held, each grants.
    for (const id of ids) {
      const last = await ask(house, ada, { role: `at_${id}`, workflow: 'automatic', duration: 'PT5M' });
      expect((await getExecution(ada, { id: last })).grants).toMatchObject([{ provider: id, state: 'active' }]);
      await runOut(house);
    }
  }

  await fc.assert(
    fc.asyncProperty(operations, ({ providers, operations: todo }) => play(providers, todo)),
    { numRuns: rounds, seed, endOnFailure: true },
  );
}, 300_000);
