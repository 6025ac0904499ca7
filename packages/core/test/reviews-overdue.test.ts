import { closeReview, deleteRequests, deleteSettled, readHealth, readMetrics } from '@belay/core';
import { describe, expect, it } from 'vitest';
import { emergencyCatalog, justified, only, shown, stageEmergencies } from './support/emergencies.js';
import { day, hour } from './support/stories.js';

describe('the review of an emergency that no one closes', () => {
  const { open, use, told, entries } = stageEmergencies();

  it('is told again when it is overdue, each week, with the operators, until it is closed', async () => {
    const { house, sue } = await open();
    await use();
    const numbers = async () => (await readMetrics(house.ctx, { uptimeMilliseconds: 0, requests: 0 })).overdue_reviews;
    const health = async () =>
      (await readHealth(house.ctx, { path: '/', scheduler: async () => 'healthy' })).services.workflow_engine;
    await house.pass(2 * day);
    expect([await numbers(), await health(), told().length]).toEqual([0, 'healthy', 1]);
    await house.pass(2 * hour);
    const late = 'Review overdue: emergency access of ada to reader';
    const overdue = () => told().filter(([, title]) => title === late);
    expect(overdue()).toEqual([
      ['oncall', late],
      ['sue@example.com', late],
    ]);
    expect([await numbers(), await health()]).toEqual([
      1,
      'degraded: 1 reviews of emergency access overdue; see "belay reviews"',
    ]);
    expect(await only(sue, { status: 'overdue' })).toMatchObject({ overdue: true });
    for (let days = 1; days < 7; days += 1) await house.pass(day);
    await deleteSettled(house.ctx);
    expect(overdue()).toHaveLength(2);
    // Members of a group are notified only if their provider has described them recently.
    await house.person('sue', ['security']);
    await house.pass(day);
    expect(overdue()).toHaveLength(4);
    await closeReview(sue, { id: (await only(sue)).id, ...justified });
    await house.pass(14 * day);
    expect([await numbers(), await health(), overdue().length]).toEqual([0, 'healthy', 4]);
  });

  it('keeps its request beyond the retention until it is closed, and is then deleted into the ledger with it', async () => {
    const { house, sue } = await open(emergencyCatalog({ more: { server: { retention: { requests: 'P90D' } } } }));
    const id = await use();
    for (let step = 0; step < 4; step += 1) await house.pass(hour);
    await house.pass(100 * day);
    const remove = async () => {
      await deleteSettled(house.ctx);
      return deleteRequests(house.ctx);
    };
    expect(await remove()).toBe(0);
    const { id: reviewed } = await only(sue);
    // A worker of an older version, which knows no reviews, cannot delete it either.
    const { sql } = house.database;
    await expect(sql`delete from reviews where id = ${reviewed}`).rejects.toThrow(/closed once/);
    await closeReview(sue, { id: reviewed, ...justified });
    await house.pass(8 * day);
    expect(await remove()).toBe(1);
    expect(await shown(sue, { status: 'all' })).toEqual([]);
    const [entry] = await entries('request.deleted');
    expect(entry?.data.requests[0]).toMatchObject({
      id,
      reviews: [{ id: reviewed, ...justified, email: 'sue@example.com' }],
    });
  });
});
