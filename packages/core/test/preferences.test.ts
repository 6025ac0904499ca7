import { notificationPreferences } from '@belay/contract/preferences';
import { readPreferences, writePreferences } from '@belay/core';
import { approvalCatalog } from '@belay/testkit/house';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cast, openCast } from './support/stories.js';

describe('what a person wants to be told', () => {
  let cast: Cast;
  beforeAll(async () => {
    const messages = { channels: ['memory'], kinds: ['access.active', 'access.ended'] };
    cast = await openCast({ catalog: { ...approvalCatalog(), messages } });
  });
  afterAll(() => cast[Symbol.asyncDispose]());
  const available = { channels: ['memory'], kinds: ['access.active', 'access.ended'] };

  it('is everything on every channel until they choose, and then what they chose, for them alone', async () => {
    const { ada, grace } = cast;
    const usual = { channels: null, muted: [], quiet_hours: null, available };
    expect(await readPreferences(ada)).toEqual(usual);
    const chosen = {
      channels: ['memory'],
      muted: ['access.ended' as const],
      quiet_hours: { from: '22:00', to: '07:00', time_zone: 'Europe/Berlin' },
    };
    expect(await writePreferences(ada, chosen)).toEqual({ ...chosen, available });
    expect(await readPreferences(ada)).toEqual({ ...chosen, available });
    expect(await readPreferences(grace)).toEqual(usual);
    const { available: _, ...cleared } = usual;
    expect(await writePreferences(ada, cleared)).toEqual(usual);
  });

  it('names no channel that the configuration does not', async () => {
    const wrong = { channels: ['nowhere'], muted: [], quiet_hours: null };
    await expect(writePreferences(cast.ada, wrong)).rejects.toMatchObject({ code: 'invalid' });
  });

  it('is for people only', async () => {
    await expect(readPreferences(cast.house.operator())).rejects.toMatchObject({ code: 'unauthenticated' });
  });

  it.each([
    [{ from: '22:00', to: '22:00', time_zone: 'UTC' }],
    [{ from: '24:00', to: '07:00', time_zone: 'UTC' }],
    [{ from: '22:00', to: '07:00', time_zone: 'Nowhere/Nothing' }],
    [{ from: '22:00', to: '07:00' }],
  ])('has no quiet hours such as %j', (quiet_hours) => {
    expect(notificationPreferences.safeParse({ channels: null, muted: [], quiet_hours }).success).toBe(false);
  });
});
