import { compareProvider } from '@belay/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { access, ask, type Cast, hour, openCast, runOut } from './support/stories.js';

describe('comparing a provider with its rows', () => {
  let cast: Cast;
  beforeEach(async () => {
    cast = await openCast();
  });
  afterEach(() => cast[Symbol.asyncDispose]());

  const compare = async () => {
    const { differences, ...rest } = await compareProvider(cast.house.ctx, 'memory', AbortSignal.timeout(5_000));
    return { ...rest, differences: differences.map(({ kind, identity, mark }) => ({ kind, identity, mark })) };
  };

  it('finds nothing where the provider holds what the rows say', async () => {
    await ask(cast.house, cast.ada, { workflow: 'automatic' });
    cast.house.provider.put('grace@example.com', access);
    expect(await compare()).toEqual({ listed: true, compared: 1, differences: [] });
    await runOut(cast.house);
    expect((await compare()).differences).toEqual([]);
  });

  it('finds what was revoked behind the rows', async () => {
    await ask(cast.house, cast.ada, { workflow: 'automatic' });
    cast.house.provider.remove('ada@example.com', access);
    expect((await compare()).differences).toEqual([{ kind: 'missing', identity: 'ada@example.com', mark: null }]);
  });

  it('finds marked access that its row says is gone, and marked access without a row', async () => {
    await ask(cast.house, cast.ada, { workflow: 'automatic' });
    await runOut(cast.house);
    const [row] = await cast.house.database.sql`select id from entitlements`;
    cast.house.provider.put('ada@example.com', access, row?.id);
    cast.house.provider.put('alan@example.com', access, 'a mark of another Belay');
    expect((await compare()).differences).toEqual([
      { kind: 'leftover', identity: 'ada@example.com', mark: row?.id },
      { kind: 'unknown', identity: 'alan@example.com', mark: 'a mark of another Belay' },
    ]);
  });

  it('reports what is being changed as unread, and throws when the provider does not answer', async () => {
    await ask(cast.house, cast.ada, { workflow: 'automatic', duration: 'PT1H' });
    cast.house.provider.remove('ada@example.com', access);
    cast.house.provider.begin('ada@example.com', access, {
      task: 'grant',
      at: hour,
      fails: false,
      change: () => {},
    });
    expect((await compare()).differences).toMatchObject([{ kind: 'unread' }]);
    cast.house.provider.down = true;
    await expect(compare()).rejects.toThrow('The provider does not answer');
  });
});
