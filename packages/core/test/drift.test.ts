import { auditDrift } from '@belay/core';
import { approvalCatalog } from '@belay/testkit/house';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readHealth } from '../src/system/health.js';
import { access, ask, type Cast, hour, minute, openCast, runOut } from './support/stories.js';

describe('the drift audit', () => {
  let cast: Cast;
  beforeEach(async () => {
    cast = await openCast();
  });
  afterEach(() => cast[Symbol.asyncDispose]());

  const audit = () => auditDrift(cast.house.ctx, AbortSignal.timeout(5_000));
  /** Audits one interval later, with two workers at the same time, of which one does it. */
  const auditLater = async () => {
    await cast.house.database.advance(hour + minute);
    const done = await Promise.all([audit(), audit()]);
    return done.filter((one) => one !== null);
  };
  const told = async () => {
    const rows = await cast.house.database
      .sql`select data ->> 'kind' as kind, message from ledger where type = 'drift.found' order by seq`;
    return rows.map(({ kind }) => kind as string);
  };
  const health = async () => {
    const input = { path: '/health', scheduler: async () => 'healthy' };
    return (await readHealth(cast.house.ctx, input)).services.workflow_engine;
  };

  it('compares a provider after one interval, by one worker, and not again before the next', async () => {
    expect(await audit()).toBeNull();
    expect(await auditLater()).toEqual(['memory']);
    expect(await audit()).toBeNull();
    expect(await auditLater()).toEqual(['memory']);
    expect([await told(), await health()]).toEqual([[], 'healthy']);
  });

  it('finds nothing in access as it should be, while it is held and afterwards, nor in standing access', async () => {
    await audit();
    cast.house.provider.put('grace@example.com', access);
    await ask(cast.house, cast.ada, { workflow: 'automatic', duration: 'PT2H' });
    await auditLater();
    await runOut(cast.house);
    await auditLater();
    expect([await told(), await health()]).toEqual([[], 'healthy']);
    expect(cast.house.provider.holds('grace@example.com', access)).toBe(true);
  });

  it('revokes what carries the mark of its own row, which says that it is gone', async () => {
    await audit();
    await ask(cast.house, cast.ada, { workflow: 'automatic' });
    await runOut(cast.house);
    const [row] = await cast.house.database.sql`select id from entitlements`;
    cast.house.provider.put('ada@example.com', access, row?.id as string);
    await auditLater();
    await cast.house.work();
    expect(cast.house.provider.holds('ada@example.com', access)).toBe(false);
    expect(await told()).toEqual(['leftover']);
    await auditLater();
    expect([await told(), await health()]).toEqual([['leftover'], 'healthy']);
  });

  it('tells once of what another granted, touches it never, and counts it while it lasts', async () => {
    await audit();
    cast.house.provider.put('alan@example.com', access, 'the mark of another Belay');
    await auditLater();
    await auditLater();
    await cast.house.work();
    expect(await told()).toEqual(['unknown']);
    expect(await health()).toMatch(/^degraded: 1 differences/);
    expect(cast.house.provider.holds('alan@example.com', access)).toBe(true);
    cast.house.provider.remove('alan@example.com', access);
    await auditLater();
    expect([await told(), await health()]).toEqual([['unknown'], 'healthy']);
  });

  it('tells of access that was removed at the provider, and does not grant it again', async () => {
    await audit();
    await ask(cast.house, cast.ada, { workflow: 'automatic', duration: 'PT4H' });
    cast.house.provider.remove('ada@example.com', access);
    await auditLater();
    await cast.house.work();
    expect([await told(), cast.house.provider.holds('ada@example.com', access)]).toEqual([['missing'], false]);
  });

  it('asks a provider that does not answer again after six minutes', async () => {
    await audit();
    await cast.house.database.advance(hour);
    cast.house.provider.down = true;
    await expect(audit()).rejects.toThrow('The provider does not answer');
    expect(await audit()).toBeNull();
    cast.house.provider.down = false;
    await cast.house.database.advance(7 * minute);
    expect(await audit()).toBe('memory');
  });

  it('is done as often as the configuration says, at once when that is shortened', async () => {
    await audit();
    await cast.house.applyCatalog({ ...approvalCatalog(), server: { drift_interval: 'PT10M' } });
    await cast.house.database.advance(11 * minute);
    // The next audit was due in an hour, and is now due in ten minutes.
    expect(await audit()).toBeNull();
    await cast.house.database.advance(10 * minute);
    expect([await audit(), await audit()]).toEqual(['memory', null]);
    await cast.house.database.advance(11 * minute);
    expect(await audit()).toBe('memory');
  });

  it.each([
    ['PT9M', 'must be at least 10 minutes (PT10M)'],
    ['P8D', 'must be at most 7 days (P7D)'],
    ['often', expect.any(String)],
  ])('rejects an interval of %s', async (interval, message) => {
    const document = { ...approvalCatalog(), server: { drift_interval: interval } };
    await expect(cast.house.applyCatalog(document)).rejects.toMatchObject({
      issues: [{ path: 'server.drift_interval', message }],
    });
  });

  it('tells operators of new differences in one message, and of each once', async () => {
    const operators = [{ provider: 'memory', to: 'ops@example.com' }];
    await cast.house.applyCatalog({ ...approvalCatalog(), messages: { channels: ['memory'], operators } });
    const messages = () => cast.house.provider.messages.filter(({ to }) => to === 'ops@example.com');
    await audit();
    cast.house.provider.put('alan@example.com', access, 'the mark of another Belay');
    cast.house.provider.put('eve\nadmin', access, 'the mark of another Belay');
    for (let times = 0; times < 3; times += 1) {
      await auditLater();
      await cast.house.work();
    }
    expect(messages()).toMatchObject([
      { kind: 'access.drifted', title: 'Access at memory differs from what Belay granted' },
    ]);
    const lines = messages()[0]?.text.split('\n').sort();
    expect(lines).toEqual([
      'alan@example.com holds access at memory that Belay did not grant',
      'eve admin holds access at memory that Belay did not grant',
    ]);
    cast.house.provider.put('grace@example.com', access, 'the mark of another Belay');
    await auditLater();
    await cast.house.work();
    expect(
      messages()
        .map(({ text }) => text)
        .slice(1),
    ).toEqual(['grace@example.com holds access at memory that Belay did not grant']);
  });
});
