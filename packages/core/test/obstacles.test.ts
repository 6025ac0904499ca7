import { readHealth, requestElevation, watchObstacles } from '@belay/core';
import type { Access, Connector, ProviderClient } from '@belay/providers';
import { createMemoryConnector, createMemoryProvider } from '@belay/providers/testkit';
import { approvalCatalog, createHouse, type House } from '@belay/testkit/house';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const second = 1_000;
const minute = 60 * second;

/** The obstacles that the system reports, which a test sets, and how often it was called. */
const says = { obstacles: async (_asked: readonly Access[]): Promise<object[]> => [], asked: 0 };
const connector: Connector = (() => {
  const memory = createMemoryConnector(createMemoryProvider({ now: () => new Date(0), people: [] }));
  return {
    ...memory,
    type: 'stingy',
    create: async (...given: Parameters<typeof memory.create>) => ({
      ...(await memory.create(...given)),
      obstacles: (accesses: readonly Access[]) => {
        says.asked += 1;
        return says.obstacles(accesses) as ReturnType<NonNullable<ProviderClient['obstacles']>>;
      },
    }),
  } as unknown as Connector;
})();

const role = (name: string, more: object = {}) => ({
  providers: ['memory'],
  workflows: ['automatic'],
  inherits: [`memory:${name}`],
  ...more,
});

function catalogOf(roles: object = {}): object {
  const base = approvalCatalog() as { roles: object };
  const own = { writer: role('write'), off: role('off', { enabled: false }), scribe: role('write') };
  return {
    ...base,
    providers: { memory: { provider: 'stingy' }, plain: { provider: 'memory' } },
    roles: { ...base.roles, ...own, ...roles },
  };
}

describe('what a connection cannot grant', () => {
  let house: House;
  let lines: string[];
  let time: number;
  beforeEach(async () => {
    lines = [];
    time = 0;
    says.asked = 0;
    says.obstacles = async (asked) =>
      asked
        .filter(({ role }) => role === 'write')
        .map((access) => ({ access, message: 'the role "write" does not exist', cure: 'create it' }));
    const log = { debug() {}, info() {}, warn: (_detail: object, line: string) => void lines.push(line), error() {} };
    house = await createHouse({ catalog: catalogOf(), connectors: [connector], log });
  });
  afterEach(() => house[Symbol.asyncDispose]());
  const watch = () => watchObstacles({ catalog: house.catalog, log: house.ctx.log, timeout: 50, now: () => time });
  const health = async (obstacles: ReturnType<typeof watch>) =>
    (await readHealth({ ...house.ctx, obstacles }, { path: '/', scheduler: async () => 'healthy' })).services
      .workflow_engine;

  it('is one line of the log for each provider, with its roles, and degrades the health without naming them', async () => {
    const obstacles = watch();
    await obstacles.look();
    await obstacles.look();
    expect(lines).toEqual([
      '"memory" would not grant scribe, writer: the role "write" does not exist; see belay doctor',
    ]);
    expect(await health(obstacles)).toBe(
      'degraded: 1 providers would not grant roles of the configuration; see the log, or "belay doctor"',
    );
    says.obstacles = async () => [];
    await obstacles.look();
    expect([await health(obstacles), lines.length]).toEqual(['healthy', 1]);
  });

  it('is looked for again behind an answer, ten minutes later or with another configuration, and not before', async () => {
    const obstacles = watch();
    expect(obstacles.count()).toBe(0);
    await obstacles.look();
    for (let times = 0; times < 20; times += 1) expect(obstacles.count()).toBe(1);
    expect(says.asked).toBe(1);
    time = 10 * minute;
    expect(obstacles.count()).toBe(1);
    await obstacles.look();
    expect(says.asked).toBe(2);
    await house.applyCatalog(catalogOf({ writer: role('read'), scribe: role('read') }));
    expect(obstacles.count()).toBe(1);
    await obstacles.look();
    expect([says.asked, obstacles.count()]).toEqual([3, 0]);
  });

  it('holds nothing up at a provider that does not answer, which counts as before', async () => {
    const obstacles = watch();
    await obstacles.look();
    says.obstacles = () => new Promise(() => {});
    time = 11 * minute;
    expect(obstacles.count()).toBe(1);
    expect(await health(obstacles)).toMatch(/^degraded: 1 providers/);
    const person = await house.person('ada', ['engineers']);
    says.obstacles = async () => Promise.reject(new Error('away'));
    await expect(requestElevation(person, { role: 'writer', reason: 'a ticket' })).rejects.toThrow();
    await obstacles.look();
    expect([obstacles.count(), lines.length]).toEqual([1, 1]);
  });

  it('names a few of many roles', async () => {
    const many = Object.fromEntries(Array.from({ length: 12 }, (_, nth) => [`w${nth}`, role('write')]));
    await house.applyCatalog(catalogOf(many));
    await watch().look();
    expect(lines.at(-1)).toContain('would not grant scribe, w0, w1, w10, w11 and 9 more: ');
  });
});
