import { getExecution, returnAccess, standByHeld } from '@belay/core';
import { Retryable } from '@belay/providers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Keeper, keeperHouse } from './support/keeper.js';
import { ask, type Cast, hour, minute, openCast, second } from './support/stories.js';

describe('a way for the revocation is kept open', () => {
  let cast: Cast;
  let kept: Keeper;
  let other: Keeper;
  let clock: number;

  beforeEach(async () => {
    const { options, keepers } = keeperHouse(['kept', 'other']);
    [kept, other] = keepers as [Keeper, Keeper];
    cast = await openCast(options);
    clock = Date.parse('2026-03-01T10:00:00Z');
  });
  afterEach(() => cast[Symbol.asyncDispose]());

  /** Runs one round of a worker, by its own clock. */
  const round = async (later = 0) => {
    clock += later;
    const ctx = { ...cast.house.ctx, clock: () => new Date(clock) };
    const { finished } = await standByHeld(ctx, new AbortController().signal);
    return finished;
  };
  const rows = async () => (await cast.house.database.sql`select count(*)::int as grants from grants`)[0]?.grants;

  it('at twelve providers at once, without a warning of Node.js', async () => {
    const more = Array.from({ length: 10 }, (_, n) => `kept${n}`);
    const names = ['kept', 'other', ...more] as const;
    const { options, keepers } = keeperHouse(names);
    await using many = await openCast(options);
    const { sql } = many.house.database;
    const warnings: string[] = [];
    const hear = ({ message }: Error) => void warnings.push(message);
    process.on('warning', hear);
    for (const name of names) {
      await sql`
        insert into entitlements (id, provider, target, subject, identity, access, names, state, key)
        values (gen_random_uuid(), ${name}, 'memory', '{}', 'ada@example.com', '{}', '[]', 'granting', ${name})`;
    }
    let begun = 0;
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    for (const keeper of keepers) {
      keeper.during = () => {
        begun += 1;
        return released;
      };
    }
    const { finished } = await standByHeld(many.house.ctx, new AbortController().signal);
    expect(begun).toBe(12);
    release();
    await finished;
    // Node.js emits the warning in a later turn of the event loop.
    await new Promise(setImmediate);
    process.off('warning', hear);
    expect(warnings).toEqual([]);
  });

  it('before a grant is intended', async () => {
    const seen: unknown[] = [];
    kept.during = async () => void seen.push({ grants: await rows(), granted: kept.state.count('ensurePresent') });
    await ask(cast.house, cast.ada, { workflow: 'automatic' });
    expect(seen).toEqual([{ grants: 0, granted: 0 }]);
    expect(kept.state.held()).toHaveLength(1);
    expect(other.calls).toEqual([]);
  });

  it('or nothing is granted: the request waits, and says for what', async () => {
    kept.during = async () => {
      throw new Retryable('The provider has no free connection');
    };
    const id = await ask(cast.house, cast.ada, { workflow: 'automatic' });
    const waiting = await getExecution(cast.ada, { id });
    expect(waiting.grants).toEqual([]);
    expect(JSON.stringify(waiting)).toContain('no free connection');
    expect(kept.state.count('ensurePresent')).toBe(0);
    kept.during = undefined;
    await cast.house.pass(5 * second);
    expect((await getExecution(cast.ada, { id })).grants).toMatchObject([{ state: 'active' }]);
  });

  it('by every worker, from its first round, at each provider where something is held and at no other', async () => {
    await ask(cast.house, cast.ada, { workflow: 'automatic' });
    kept.calls.length = 0;
    await round();
    await round();
    expect(kept.calls).toEqual(['standBy', 'standBy']);
    expect(other.calls).toEqual([]);
  });

  it('until everything is settled there, the quarantine included, and a minute longer', async () => {
    const id = await ask(cast.house, cast.ada, { workflow: 'automatic', duration: 'PT5M' });
    await returnAccess(cast.ada, { execution_id: id });
    await cast.house.work();
    expect(kept.state.held()).toEqual([]);
    await round(hour);
    expect(kept.calls.at(-1)).toBe('standBy');
    await cast.house.pass(16 * minute);
    await round(59 * second);
    expect(kept.calls).not.toContain('standDown');
    await round(2 * second);
    expect(kept.calls.at(-1)).toBe('standDown');
    const { length } = kept.calls;
    await round(hour);
    expect(kept.calls).toHaveLength(length);
  });

  it('is called although another provider hangs, which is called once and delays nothing', async () => {
    await ask(cast.house, cast.ada, { workflow: 'automatic' });
    await ask(cast.house, cast.ada, { workflow: 'automatic', role: 'elsewhere' });
    kept.calls.length = 0;
    other.calls.length = 0;
    kept.during = () => new Promise(() => {});
    void round();
    void round();
    await expect.poll(() => other.calls.length).toBe(2);
    expect(kept.calls).toEqual(['standBy']);
  });

  it('and a failure of it is an error in the log, once, and tried again', async () => {
    const lines: string[] = [];
    const log = { ...cast.house.ctx.log, error: (_: object, line: string) => void lines.push(line) };
    await ask(cast.house, cast.ada, { workflow: 'automatic' });
    kept.during = async () => {
      throw new Retryable('The provider has no free connection');
    };
    cast.house.ctx.log = log;
    await round();
    await round();
    expect(lines).toEqual([expect.stringContaining('no free connection')]);
    expect(kept.calls.filter((call) => call === 'standBy')).toHaveLength(3);
  });
});
