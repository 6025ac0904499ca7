import { createLogin, endLogin, withActor } from '@belay/core';
import { openDatabase } from '@belay/db';
import { createHouse, type House } from '@belay/testkit/house';
import { sql } from 'drizzle-orm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { verifyTogether } from '../../src/http/verify-together.js';

describe('logins that arrive in one turn of the event loop', () => {
  let house: House;
  let close: () => Promise<void>;
  let statements: string[];
  let verify: ReturnType<typeof verifyTogether>;

  beforeEach(async () => {
    house = await createHouse();
    statements = [];
    const counted = openDatabase(house.database.url, { onStatement: (_, text) => void statements.push(text) });
    close = counted.close;
    // A new connection is examined with a statement of its own.
    await counted.db.execute(sql`select 1`);
    statements.length = 0;
    verify = verifyTogether({ ...house.ctx, db: counted.db });
  });
  afterEach(async () => {
    await close();
    await house[Symbol.asyncDispose]();
  });

  const signIn = async (name: string) => {
    const person = await house.person(name);
    const { token } = await createLogin(house.ctx, { user: person.actor, kind: 'browser' });
    return { person, token };
  };
  const emails = async (tokens: string[]) =>
    (await Promise.all(tokens.map((token) => verify(token)))).map((login) => login?.actor.email);

  it('share one statement, with as many people as there are, and each gets their own', async () => {
    const names = Array.from({ length: 40 }, (_, index) => `person${index}`);
    const tokens: string[] = [];
    for (const name of names) tokens.push((await signIn(name)).token);
    expect(await emails([...tokens, ...tokens, 'x'.repeat(43), ''])).toEqual([
      ...names.map((name) => `${name}@example.com`),
      ...names.map((name) => `${name}@example.com`),
      undefined,
      undefined,
    ]);
    expect(statements).toHaveLength(1);
  });

  it('share a text with a login that arrives alone', async () => {
    const one = await signIn('ada');
    const other = await signIn('grace');
    await emails([one.token]);
    await emails([one.token, other.token]);
    expect(statements).toHaveLength(2);
    expect(new Set(statements).size).toBe(1);
  });

  it('ask in bounded statements, however many there are', async () => {
    const { token } = await signIn('ada');
    const unknown = Array.from({ length: 1_200 }, (_, index) => `${'x'.repeat(40)}${index}`);
    const found = await emails([...unknown, token]);
    expect(found.at(-1)).toBe('ada@example.com');
    expect(found.filter((email) => email !== undefined)).toHaveLength(1);
    expect(statements).toHaveLength(3);
  });

  it('ask nothing about what cannot be a login', async () => {
    expect(await emails(['', 'short', 'x'.repeat(500)])).toEqual([undefined, undefined, undefined]);
    expect(statements).toEqual([]);
  });

  it('are read after the last of them arrived: one that has ended meanwhile is rejected for all', async () => {
    const { person, token } = await signIn('ada');
    const login = await verify(token);
    await endLogin(withActor(house.ctx, login?.actor ?? person.actor), {});
    expect(await emails([token, token])).toEqual([undefined, undefined]);
  });

  it('fail one by one: what cannot be moved on for one login is not the others', async () => {
    const broken = await signIn('ada');
    const sound = await signIn('grace');
    const login = await verify(broken.token);
    // Both logins are due to be extended, but the row of one cannot be written.
    await house.database.sql.unsafe(`
      update logins set expires_at = app_now() + interval '1 hour' where kind = 'browser';
      create function reject_update() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
      create trigger reject_update before update on logins for each row
        when (old.id = '${login?.actor.loginId}') execute function reject_update();`);
    const [one, other] = await Promise.allSettled([verify(broken.token), verify(sound.token)]);
    expect(one?.status).toBe('rejected');
    expect(other).toMatchObject({ status: 'fulfilled', value: { actor: { email: 'grace@example.com' } } });
  });
});
