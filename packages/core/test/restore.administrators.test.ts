import {
  type ActorContext,
  answerLeftover,
  beginRestore,
  compareRestored,
  openRestore,
  readRestore,
  skipProvider,
} from '@belay/core';
import { approvalCatalog } from '@belay/testkit/house';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { access, ask, type Cast, minute, openCast } from './support/stories.js';

const ada = 'ada@example.com';
const reason = 'looked at';
const hour = 60 * minute;

describe('an administrator after a restore', () => {
  let cast: Cast;
  beforeEach(async () => {
    cast = await openCast();
    const administrators = { users: [ada, 'grace@example.com', 'alan@example.com'] };
    await cast.house.applyCatalog({ ...approvalCatalog(), access: { administrators } });
    cast.house.provider.put(ada, access, 'the mark of another Belay');
  });
  afterEach(() => cast[Symbol.asyncDispose]());

  const settle = () => cast.house.database.advance(minute);
  const begin = async (person: ActorContext) => {
    await beginRestore(person, { reason });
    await settle();
  };
  const compare = async () => {
    await compareRestored(cast.house.ctx, AbortSignal.timeout(5_000));
    return readRestore(cast.house.operator());
  };
  const skip = (person: ActorContext) => skipProvider(person, { provider: 'memory', reason });
  const holds = () => cast.house.provider.holds(ada, access);

  it('cannot keep their own access by beginning again, skipping the provider and permitting grants', async () => {
    await begin(cast.ada);
    const [found] = (await compare()).leftovers;
    await begin(cast.ada);
    await expect(skip(cast.ada)).rejects.toMatchObject({ code: 'conflict' });
    expect((await readRestore(cast.house.operator())).leftovers).toMatchObject([{ id: found?.id }]);
    await expect(openRestore(cast.ada)).rejects.toMatchObject({ code: 'conflict' });
    await answerLeftover(cast.grace, { id: found?.id ?? '', answer: 'revoke', reason });
    await compare();
    await openRestore(cast.grace);
    await cast.house.work();
    expect(holds()).toBe(false);
  });

  it('leaves what was found undecided for the restore that another person begins, while its provider is skipped', async () => {
    await begin(cast.ada);
    await compare();
    await begin(cast.house.operator());
    await skip(cast.house.operator());
    const { leftovers } = await readRestore(cast.house.operator());
    expect(leftovers).toMatchObject([{ identity: ada }]);
    await expect(openRestore(cast.house.operator())).rejects.toMatchObject({ message: /waits for a decision \(1\)/ });
  });

  it('is not asked about access that a later comparison found gone', async () => {
    await begin(cast.ada);
    await compare();
    cast.house.provider.remove(ada, access);
    await begin(cast.house.operator());
    expect((await compare()).leftovers).toEqual([]);
    await openRestore(cast.grace);
  });

  it('skips a provider only when its comparison failed and another administrator wants it too', async () => {
    await begin(cast.ada);
    await expect(skip(cast.ada)).rejects.toMatchObject({ code: 'conflict', message: /has not failed/ });
    cast.house.provider.down = true;
    await compare();
    expect(await skip(cast.ada)).toMatchObject({ message: expect.stringMatching(/another administrator/) });
    await expect(skip(cast.ada)).rejects.toMatchObject({ code: 'conflict', message: /another administrator/ });
    await expect(openRestore(cast.ada)).rejects.toMatchObject({ code: 'conflict' });
    expect((await readRestore(cast.grace)).providers).toMatchObject([
      { status: 'failed', skip: { by: expect.stringMatching(/ada/i), reason } },
    ]);
    await skip(cast.grace);
    expect((await readRestore(cast.grace)).providers).toMatchObject([{ status: 'skipped', note: reason }]);
    const told = await cast.house.database.sql`select type from ledger where type like 'restore.skip%' order by seq`;
    expect(told.map(({ type }) => type)).toEqual(['restore.skip_proposed', 'restore.skipped']);
    await openRestore(cast.grace);
  });

  it('is not two administrators with two accounts of one person', async () => {
    const other = await cast.house.person('alan', []);
    await cast.house.database
      .sql`update user_identities set email = ${ada}, email_folded = ${ada} where user_id = ${other.actor.id}`;
    await begin(cast.ada);
    cast.house.provider.down = true;
    await compare();
    await skip(cast.ada);
    await expect(skip(other)).rejects.toMatchObject({ code: 'conflict', message: /another administrator/ });
  });

  it('has a proposal forgotten when the provider is compared anew', async () => {
    await begin(cast.ada);
    cast.house.provider.down = true;
    await compare();
    await skip(cast.ada);
    await begin(cast.house.operator());
    await expect(skip(cast.grace)).rejects.toMatchObject({ code: 'conflict', message: /has not failed/ });
  });

  it('does not keep others from being granted by beginning again and again', async () => {
    const waits = await ask(cast.house, cast.alan, { workflow: 'automatic' });
    expect(waits).toEqual(expect.any(String));
    await begin(cast.ada);
    for (const answer of ['revoke'] as const) {
      await compare();
      await beginRestore(cast.ada, { reason });
      const status = await compare();
      expect(status.providers).toMatchObject([{ status: 'compared' }]);
      for (const { id } of status.leftovers) await answerLeftover(cast.grace, { id, answer, reason });
    }
    await beginRestore(cast.ada, { reason });
    await openRestore(cast.grace);
    await expect(beginRestore(cast.ada, { reason })).rejects.toMatchObject({
      code: 'conflict',
      message: /24 hours/,
    });
    expect((await readRestore(cast.grace)).closed_since).toBeNull();
    // Another administrator, and the same one on the next day, may begin.
    await begin(cast.grace);
    await compare();
    await openRestore(cast.grace);
    await cast.house.database.advance(24 * hour);
    await beginRestore(cast.ada, { reason });
    expect((await readRestore(cast.grace)).closed_since).not.toBeNull();
  });

  it('does not sign all people out again by beginning again', async () => {
    await begin(cast.ada);
    const { sql } = cast.house.database;
    await sql`
      insert into logins (secret_hash, id, user_id, kind, provider, subject, expires_at)
      values ('hash', gen_random_uuid(), ${cast.grace.actor.id}, 'browser', 'login', 'grace', '2999-01-01')`;
    await beginRestore(cast.ada, { reason });
    expect(await sql`select kind from logins where secret_hash = 'hash'`).toHaveLength(1);
  });
});
