import {
  answerLeftover,
  beginRestore,
  compareRestored,
  openRestore,
  readHealth,
  readMetrics,
  readRestore,
  returnAccess,
  skipProvider,
} from '@belay/core';
import { performStep } from '@belay/engine';
import { approvalCatalog } from '@belay/testkit/house';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withPlaces } from './support/places.js';
import {
  access,
  approve,
  ask,
  type Cast,
  minute,
  openCast,
  type Person,
  request,
  statusOf,
} from './support/stories.js';

const ada = 'ada@example.com';
const alan = 'alan@example.com';
/** The mark of access for which the restored database has no row. */
const lost = '0199a3c2-7b1e-7cc3-98c4-dc0c0c07398f';

describe('after a restore', () => {
  let cast: Cast;
  beforeEach(async () => {
    cast = await openCast();
  });
  afterEach(() => cast[Symbol.asyncDispose]());

  const begin = async () => {
    await beginRestore(cast.house.operator(), { reason: 'a drill' });
    // Calls from before the restore have ended after this time.
    await cast.house.database.advance(minute);
  };
  const compare = async () => {
    await compareRestored(cast.house.ctx, AbortSignal.timeout(5_000));
    return readRestore(cast.house.operator());
  };
  const open = () => openRestore(cast.house.operator());
  const holds = (identity: string) => cast.house.provider.holds(identity, access);
  const answer = (id: string, verdict: 'keep' | 'revoke') =>
    answerLeftover(cast.house.operator(), { id, answer: verdict, reason: 'looked at' });
  const entries = async (type: string) => {
    const rows = await cast.house.database.sql`select user_id from ledger where type = ${type}`;
    return rows.map(({ user_id }) => user_id);
  };

  it('grants nothing before every provider was compared and an operator opened it', async () => {
    await begin();
    const automatic = await ask(cast.house, cast.ada, { workflow: 'automatic' });
    const approved = await ask(cast.house, cast.alan);
    await approve(cast.grace, approved);
    await cast.house.pass(minute);
    expect([holds(ada), holds(alan)]).toEqual([false, false]);
    await expect(open()).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining('memory') });
    expect((await compare()).providers).toEqual([{ provider: 'memory', status: 'compared', note: null }]);
    await cast.house.pass(minute);
    expect(holds(ada)).toBe(false);
    await open();
    await cast.house.work();
    expect([holds(ada), holds(alan)]).toEqual([true, true]);
    expect(await statusOf(cast.ada, automatic)).toBe('waiting');
    expect((await readRestore(cast.house.operator())).closed_since).toBeNull();
  });

  it('claims nothing with the intent while grants wait, in a process that has a place', async () => {
    const worker = withPlaces(cast.house.ctx, 2);
    await begin();
    // The first turn of a new execution, whose intent, move and claim are one statement.
    const id = await request(cast.ada, { workflow: 'automatic' });
    await performStep(worker.ctx, { executionId: id, key: '/' }, { leased: true });
    await worker.settled();
    expect([holds(ada), worker.taken()]).toEqual([false, 0]);
    const rows = await cast.house.database.sql`select state, fence, lease_until from entitlements`;
    expect(rows).toEqual([{ state: 'granting', fence: 0, lease_until: null }]);
    await compare();
    await open();
    await cast.house.work();
    expect(holds(ada)).toBe(true);
  });

  it('shows in the health and in the numbers while grants wait', async () => {
    const { ctx } = cast.house;
    const shown = async () => {
      const { services } = await readHealth(ctx, { path: '/health', scheduler: async () => 'healthy' });
      const { grants_waiting_for_restore: waiting } = await readMetrics(ctx, { uptimeMilliseconds: 0, requests: 0 });
      return [services.workflow_engine, waiting];
    };
    expect(await shown()).toEqual(['healthy', 0]);
    await begin();
    expect(await shown()).toEqual([expect.stringMatching(/^degraded: nothing is granted until/), 1]);
    await compare();
    await open();
    expect(await shown()).toEqual(['healthy', 0]);
  });

  it('still revokes while grants wait', async () => {
    const id = await ask(cast.house, cast.ada, { workflow: 'automatic' });
    await begin();
    await returnAccess(cast.ada, { execution_id: id });
    await cast.house.work();
    expect(holds(ada)).toBe(false);
  });

  it('revokes what has the mark of its own row and leaves standing access untouched', async () => {
    const id = await ask(cast.house, cast.ada, { workflow: 'automatic' });
    await returnAccess(cast.ada, { execution_id: id });
    await cast.house.pass(20 * minute);
    // Granted again after the time to which the database was restored.
    const [row] = await cast.house.database.sql`select id, state from entitlements`;
    expect(row?.state).toBe('absent');
    cast.house.provider.put(ada, access, row?.id);
    cast.house.provider.put('grace@example.com', access);
    await begin();
    expect((await compare()).leftovers).toEqual([]);
    await cast.house.work();
    expect([holds(ada), holds('grace@example.com')]).toEqual([false, true]);
    await open();
    expect(await entries('restore.found')).toHaveLength(1);
  });

  it('lists marked access without a row, and revokes or keeps it as the operator says', async () => {
    cast.house.provider.put(ada, access, lost);
    cast.house.provider.put(alan, access, 'the mark of another Belay');
    await begin();
    const { leftovers } = await compare();
    expect(leftovers).toMatchObject([
      { provider: 'memory', identity: ada, mark: lost },
      { provider: 'memory', identity: alan, mark: 'the mark of another Belay' },
    ]);
    const [first, second] = leftovers.map(({ id }) => id);
    await expect(open()).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('waits for a decision (2)'),
    });
    await answer(String(first), 'revoke');
    await answer(String(second), 'keep');
    await expect(answer(String(second), 'revoke')).rejects.toMatchObject({ code: 'not_found' });
    await open();
    await cast.house.work();
    expect([holds(ada), holds(alan)]).toEqual([false, true]);
    // Access that the operator kept is not listed again; access that was revoked and is there again is revoked.
    cast.house.provider.put(ada, access, lost);
    await cast.house.database.sql`update entitlements set state = 'absent', last_grant_call_at = null`;
    await begin();
    expect((await compare()).leftovers).toEqual([]);
    await cast.house.work();
    expect([holds(ada), holds(alan)]).toEqual([false, true]);
  });

  it('ends a grant on access that the provider does not hold any more, and tells its owner', async () => {
    const id = await ask(cast.house, cast.ada, { workflow: 'automatic' });
    cast.house.provider.remove(ada, access);
    await cast.house.database.advance(minute);
    await begin();
    await compare();
    await open();
    await cast.house.work();
    expect(holds(ada)).toBe(false);
    expect(await statusOf(cast.ada, id)).toBe('completed');
    expect(await entries('restore.missing')).toEqual([cast.ada.actor.id]);
  });

  it('tries a provider that does not answer again, until it answers or an operator skips it', async () => {
    await begin();
    cast.house.provider.down = true;
    expect((await compare()).providers).toMatchObject([{ status: 'failed', note: 'The provider does not answer' }]);
    cast.house.provider.down = false;
    expect((await compare()).providers).toMatchObject([{ status: 'failed' }]);
    await cast.house.database.advance(minute);
    expect((await compare()).providers).toMatchObject([{ status: 'compared' }]);
    await begin();
    await skipProvider(cast.house.operator(), { provider: 'memory', reason: 'it is gone' });
    expect((await compare()).providers).toEqual([{ provider: 'memory', status: 'skipped', note: 'it is gone' }]);
    await open();
  });

  it('compares anew when a second restore begins', async () => {
    await begin();
    await compare();
    await begin();
    await expect(open()).rejects.toMatchObject({ code: 'conflict' });
    await compare();
    await open();
    await expect(open()).rejects.toMatchObject({ code: 'conflict' });
  });

  it('compares a provider once when several workers look', async () => {
    await begin();
    const done = await Promise.all([1, 2, 3].map(() => compareRestored(cast.house.ctx, AbortSignal.timeout(5_000))));
    expect(done.sort()).toEqual([0, 0, 1]);
  });

  it('rejects an administrator who would keep their own access, under each name that the provider has for them, and lets them revoke it', async () => {
    const { house, grace } = cast;
    Object.assign(house.provider.options, { people: [{ id: 'a-17', name: 'ada', email: ada }] });
    await house.applyCatalog({
      ...approvalCatalog(),
      access: { administrators: { users: [ada, 'grace@example.com'] } },
    });
    for (const identity of [ada, 'a-17']) house.provider.put(identity, access, 'the mark of another Belay');
    await begin();
    const { leftovers } = await compare();
    const decide = (person: Person, identity: string, answer: 'keep' | 'revoke') => {
      const id = leftovers.find((one) => one.identity === identity)?.id ?? '';
      return answerLeftover(person, { id, answer, reason: 'looked at' });
    };
    for (const identity of [ada, 'a-17']) {
      await expect(decide(cast.ada, identity, 'keep')).rejects.toMatchObject({
        code: 'forbidden',
        message: /your own/,
      });
    }
    await decide(cast.ada, ada, 'revoke');
    await decide(grace, 'a-17', 'keep');
    await house.work();
    expect([holds(ada), holds('a-17')]).toEqual([false, true]);
  });

  it('ends the logins of thousands, each once', async () => {
    const { sql } = cast.house.database;
    await sql`
      insert into logins (secret_hash, id, user_id, kind, provider, subject, expires_at)
      select 'hash ' || n, gen_random_uuid(), ${cast.ada.actor.id}, 'browser', 'login', 'ada', '2999-01-01' from generate_series(1, 2300) n`;
    await begin();
    const left = await sql`select distinct kind from logins`;
    const told = await sql`select (data->>'logins')::int as ended from ledger where type = 'login.ended' order by seq`;
    expect([left, told]).toMatchObject([[{ kind: 'token' }], [{ ended: 1_000 }, { ended: 1_000 }, { ended: 300 }]]);
  });

  it('is for administrators and operators, with a reason', async () => {
    await expect(beginRestore(cast.ada, { reason: 'a drill' })).rejects.toMatchObject({ code: 'forbidden' });
    await expect(beginRestore(cast.house.operator(), { reason: ' ' })).rejects.toMatchObject({ code: 'invalid' });
    await expect(readRestore(cast.ada)).rejects.toMatchObject({ code: 'forbidden' });
    await expect(openRestore(cast.ada)).rejects.toMatchObject({ code: 'forbidden' });
    await expect(skipProvider(cast.ada, { provider: 'memory', reason: 'x' })).rejects.toMatchObject({
      code: 'forbidden',
    });
    await expect(answerLeftover(cast.ada, { id: lost, answer: 'keep', reason: 'x' })).rejects.toMatchObject({
      code: 'forbidden',
    });
  });
});
