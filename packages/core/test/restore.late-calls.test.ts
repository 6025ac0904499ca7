import {
  answerLeftover,
  auditDrift,
  beginRestore,
  compareRestored,
  openRestore,
  readRestore,
  returnAccess,
} from '@belay/core';
import { openDatabase } from '@belay/db';
import { performStep } from '@belay/engine';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { backUp } from './support/back-up.js';
import { gateOf } from './support/gate.js';
import {
  access,
  ask,
  beginOnly,
  type Cast,
  day,
  hour,
  minute,
  openCast,
  request,
  together,
} from './support/stories.js';

const ada = 'ada@example.com';
const automatic = { workflow: 'automatic', duration: 'PT8H' };

describe('a call of before a restore that was announced', () => {
  let cast: Cast;
  beforeEach(async () => {
    cast = await openCast();
  });
  afterEach(() => cast[Symbol.asyncDispose]());

  const operator = () => cast.house.operator();
  const holds = () => cast.house.provider.holds(ada, access);
  const compare = () => compareRestored(cast.house.ctx, AbortSignal.timeout(20_000));

  /** Starts a grant call in a worker that dies before the call returns; `land` lets the call reach the provider. */
  async function grantOnItsWay(): Promise<{ land(): Promise<void> }> {
    const { house } = cast;
    const id = await request(cast.ada, automatic);
    await beginOnly(house, id);
    const [step] = await house.database.sql`select key from steps where execution_id = ${id} and status = 'open'`;
    const own = openDatabase(house.database.url);
    const gate = gateOf(house, 'ensurePresent');
    // The worker loses its database, so it can record nothing more.
    const dying = { ...gate.ctx, db: own.db, delay: () => new Promise<never>(() => {}) };
    performStep(dying, { executionId: id, key: step?.key as string }).catch(() => undefined);
    await gate.reached;
    await own.close();
    return {
      async land() {
        gate.open();
        await expect.poll(holds).toBe(true);
      },
    };
  }

  it.each([
    ['has no row', false],
    ['has a row, which says that it is gone', true],
  ])('leaves no access behind that %s', async (_what, known) => {
    const { house } = cast;
    if (known) {
      await returnAccess(cast.ada, { execution_id: await ask(house, cast.ada, automatic) });
      await house.pass(20 * minute);
    }
    const restore = await backUp(house.database);
    await house.pass(minute);
    const call = await grantOnItsWay();
    await restore();
    await beginRestore(operator(), { reason: 'restored to 09:00' });
    await compare();
    await together([openRestore(operator())]);
    await call.land();

    await house.pass(minute);
    await compare();
    for (const { id } of (await readRestore(operator())).leftovers) {
      await answerLeftover(operator(), { id, answer: 'revoke', reason: 'granted after the backup' });
    }
    await together([openRestore(operator())]);
    await house.pass(hour);
    expect(holds()).toBe(false);
    expect((await readRestore(operator())).closed_since).toBeNull();
    await house.pass(day);
    expect(holds()).toBe(false);
  });

  it('is looked for once more when it lands after grants were permitted, as late as a call may', async () => {
    const { house } = cast;
    const audit = () => auditDrift(house.ctx, AbortSignal.timeout(20_000));
    await returnAccess(cast.ada, { execution_id: await ask(house, cast.ada, automatic) });
    await house.pass(20 * minute);
    // The provider is compared once an hour from now on.
    expect(await audit()).toBeNull();
    const restore = await backUp(house.database);
    const call = await grantOnItsWay();
    await restore();
    await beginRestore(operator(), { reason: 'restored to 09:00' });
    await house.pass(minute);
    await compare();
    await openRestore(operator());
    await call.land();
    await house.pass(14 * minute);
    expect(await audit()).toBeNull();
    await house.pass(minute);
    expect(await audit()).toBe('memory');
    await house.work();
    expect(holds()).toBe(false);
  });
});
