import { execute, sqlText } from '@belay/db';
import { type Budget, Retryable, urgently } from '@belay/providers';
import { createHouse, type House } from '@belay/testkit/house';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createBudgets, selectPauses } from '../src/catalog/budgets.js';
import type { CompiledProvider } from '../src/configuration/catalog.js';
import { hour, minute } from './support/stories.js';

const calls = { most: 100, per: 'PT1H', reserved: 20 };

describe('a limit of calls that the configuration sets, in two processes', () => {
  let house: House;
  let clock: number;
  beforeEach(async () => {
    house = await createHouse();
    clock = 1_000_000;
  });
  afterEach(() => house[Symbol.asyncDispose]());

  function openProcess() {
    const budgets = createBudgets({ db: house.database.db, log: house.ctx.log, now: () => clock });
    return { budgets, budget: budgets.create({ id: 'api', definition: { calls } } as CompiledProvider) };
  }
  /** Makes calls until one has to wait, and returns how many were made. */
  async function spend(budget: Budget): Promise<number> {
    for (let made = 0; ; made += 1) {
      try {
        (await budget.begin('', 'The API'))();
      } catch (error) {
        expect(error).toBeInstanceOf(Retryable);
        return made;
      }
    }
  }
  const pass = async (milliseconds: number) => {
    clock += milliseconds;
    await house.database.advance(milliseconds);
  };

  it('is shared, and its reserved part is left to revocations', async () => {
    const [one, other] = [openProcess().budget, openProcess().budget];
    expect((await spend(one)) + (await spend(other))).toBe(80);
    expect((await urgently(() => spend(one))) + (await urgently(() => spend(other)))).toBe(20);
    // A tenth of the limit is there again after a tenth of the time, and revocations come first.
    await pass(6 * minute);
    expect(await spend(one)).toBe(0);
    expect(await urgently(() => spend(one))).toBe(10);
    await pass(hour);
    expect(await spend(other)).toBe(80);
  });

  it('is left to the provider for revocations while the database is away', async () => {
    const { budget } = openProcess();
    await house.database.sql`alter table provider_calls rename to elsewhere`;
    (await urgently(() => budget.begin('', 'The API')))();
    await expect(budget.begin('', 'The API')).rejects.toThrow();
  });

  it('knows of a pause that the other process was told', async () => {
    const [one, other] = [openProcess(), openProcess()];
    one.budget.told('', { wait: 5 * minute });
    const read = async () => {
      const [row] = await execute<{ pauses: string }>(house.database.db, sqlText`select ${selectPauses} as pauses`);
      const pauses = row?.pauses ?? '[]';
      return pauses;
    };
    await expect.poll(read).not.toBe('[]');
    other.budgets.hear(await read());
    await expect(urgently(() => other.budget.begin('', 'The API'))).rejects.toMatchObject({
      options: { afterMilliseconds: 5 * minute },
    });
    // A client that is created later knows it too.
    await expect(
      other.budgets.create({ id: 'api', definition: {} } as CompiledProvider).begin('', ''),
    ).rejects.toThrow();
  });
});
