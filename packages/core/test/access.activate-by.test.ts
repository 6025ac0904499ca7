import { getExecution, listAccess } from '@belay/core';
import { afterEach, describe, expect, it } from 'vitest';
import { type Cast, catalogWith, hour, minute, openCast, request } from './support/stories.js';

describe('a grant that waits for its provider', () => {
  let cast: Cast | undefined;
  afterEach(async () => {
    await cast?.[Symbol.asyncDispose]();
    cast = undefined;
  });

  /** Makes a request for two hours whose provider is down after the first attempt to grant. */
  const waiting = async () => {
    cast = await openCast({ catalog: catalogWith({}) });
    const { house, ada } = cast;
    house.provider.inject('ensurePresent', { kind: 'throttle' });
    const id = await request(ada, { workflow: 'automatic', duration: 'PT2H' });
    await house.work();
    house.provider.down = true;
    return { ...cast, id, sql: house.database.sql };
  };

  it('has a time by which it has to be active, and no expiry', async () => {
    const { ada, id, sql } = await waiting();
    const [row] = await sql`select expires_at, activate_by - created_at = interval '3 hours' as by from grants`;
    expect(row).toEqual({ expires_at: null, by: true });
    expect((await getExecution(ada, { id })).grants).toMatchObject([{ state: 'granting', expires_at: null }]);
    expect((await listAccess(ada)).access).toMatchObject([{ state: 'granting', expires_at: null }]);
  });

  it('expires its whole duration after it became active', async () => {
    const { house, ada, id, sql } = await waiting();
    await house.pass(hour);
    house.provider.down = false;
    await house.pass(minute);
    const [row] = await sql`select expires_at - activated_at = interval '2 hours' as whole from grants`;
    expect(row).toEqual({ whole: true });
    const [grant] = (await getExecution(ada, { id })).grants;
    expect(Date.parse(grant?.expires_at ?? '') - Date.parse(grant?.granted_at ?? '')).toBe(2 * hour);
  });

  it('is over when it was not active in time', async () => {
    const { house, ada, id } = await waiting();
    for (let passed = 0; passed < 3 * hour; passed += 20 * minute) await house.pass(20 * minute);
    expect(await getExecution(ada, { id })).toMatchObject({ status: 'faulted', grants: [{ state: 'ended' }] });
    house.provider.down = false;
    await house.pass(20 * minute);
    expect(house.provider.held()).toEqual([]);
    expect((await listAccess(ada)).access).toEqual([]);
  });

  it('cannot be stored without an end', async () => {
    const { sql } = await waiting();
    await expect(sql`update grants set activate_by = null`).rejects.toThrow('not-null');
    await expect(sql`update grants set activated_at = app_now()`).rejects.toThrow('grant_has_an_end');
  });
});
