import { findDue } from '@belay/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { beginOnly, type Cast, catalogWith, hour, minute, openCast, request, second } from './support/stories.js';

describe('what a sweep finds', () => {
  let cast: Cast;
  beforeEach(async () => {
    const waiting = (after: object) => [{ pause: { wait: after } }];
    cast = await openCast({
      catalog: catalogWith({
        soon: waiting({ seconds: 9 }),
        later: waiting({ minutes: 15 }),
        latest: waiting({ hours: 1 }),
      }),
    });
  });
  afterEach(() => cast[Symbol.asyncDispose]());
  const now = Date.parse('2026-03-01T10:00:00.000Z');
  const at = (milliseconds: number) => new Date(now + milliseconds);

  /** Inserts `many` entitlements that are due one millisecond after the other, starting at `from`. */
  const put = (provider: string, from: number, many = 1) => cast.house.database.sql`
    insert into entitlements (id, key, provider, target, subject, identity, access, names, state, last_grant_call_at, due_at)
    select gen_random_uuid(), gen_random_uuid()::text, ${provider}, 'memory', '{}', 'ada', '{}', '[]', 'granted', app_now(),
      app_now() + (${from} + n) * interval '1 millisecond' from generate_series(0, ${many - 1}) n`;

  it('is what is due and what will be within ten seconds, with its times, and nothing that is due later', async () => {
    const { house, ada } = cast;
    for (const after of [-minute, 9 * second, 11 * second, 15 * minute, hour]) await put('memory', after);
    const ids: string[] = [];
    for (const workflow of ['soon', 'later', 'latest']) {
      const id = await request(ada, { workflow });
      await beginOnly(house, id);
      ids.push(id);
    }
    const { steps, ...due } = await findDue(house.ctx);
    expect(due).toEqual({
      now: at(0),
      entitlements: [{ provider: 'memory', times: [at(-minute), at(9 * second)] }],
      until: null,
    });
    expect(steps.map(({ executionId, dueAt }) => [executionId, dueAt])).toEqual([[ids[0], at(9 * second)]]);
  });

  it('leaves out what another worker has claimed until the end of its lease', async () => {
    await put('memory', 0);
    await cast.house.database.sql`update entitlements set lease_until = app_now() + interval '1 second'`;
    expect((await findDue(cast.house.ctx)).entitlements).toEqual([]);
    await cast.house.database.advance(second);
    expect((await findDue(cast.house.ctx)).entitlements).toHaveLength(1);
  });

  it('is the first thousand of each provider, and says until when it is all that there is', async () => {
    await put('crowded', 0, 1_200);
    await put('quiet', 5 * second, 3);
    const { entitlements, until } = await findDue(cast.house.ctx);
    expect(entitlements.map(({ provider, times }) => [provider, times.length])).toEqual([
      ['crowded', 1_000],
      ['quiet', 3],
    ]);
    expect(until).toEqual(at(999));
  });
});
