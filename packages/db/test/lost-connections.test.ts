import { setImmediate as turn } from 'node:timers/promises';
import { commitWith, openDatabase } from '@belay/db';
import { createTestDatabase } from '@belay/testkit/database';
import { sql } from 'drizzle-orm';
import { expect, it } from 'vitest';
import { type Loss, startFaultyProxy } from '../../../chaos/src/faulty-proxy.js';

const losses: Loss[] = ['reset', 'close', 'half-close'];
const statements = 3;
/** Long enough for a busy machine; a promise that is left open never settles at all. */
const patience = 20_000;

it('settles every statement of a transaction whose connection is lost at any point, and runs none elsewhere', async () => {
  await using database = await createTestDatabase();
  await database.sql`create table written (run int, step int)`;
  const target = new URL(database.url);
  await using proxy = await startFaultyProxy({ host: target.hostname, port: Number(target.port) });
  target.hostname = '127.0.0.1';
  target.port = String(proxy.port);
  const client = openDatabase(target.href, { max: 2 });
  const committed = new Set<number>();
  let lost = 0;

  const transact = (run: number, breakAt: number, loss: Loss) =>
    client.db.transaction(async (tx) => {
      for (let step = 0; step < statements; step += 1) {
        // Between two statements nothing is in transit that could reveal the loss.
        if (step === breakAt) proxy.lose(loss);
        if (run % 2 === 0) await turn();
        const statement = tx.execute(sql`insert into written values (${run}, ${step})`);
        // COMMIT goes with the last statement in a third of the runs.
        if (run % 3 === 0 && step === statements - 1) await commitWith(tx, [statement]);
        else await statement;
      }
    });

  for (let run = 0; run < 1_000; run += 1) {
    const loss = losses[run % losses.length] ?? 'reset';
    // Half of the runs lose the connection at a chunk on the wire; the others before each of the statements in turn, or nowhere.
    const onTheWire = run % 4 < 2;
    if (onTheWire) proxy.loseAfter(run % 23, loss);
    const breakAt = onTheWire ? -1 : Math.floor(run / 4) % (statements + 1);
    const outcomes = await settled([transact(run, breakAt, loss), transact(run + 100_000, -1, loss)]);
    outcomes.forEach((outcome, index) => {
      if (outcome.status === 'fulfilled') committed.add(run + index * 100_000);
      else {
        lost += 1;
        expect(describeLoss(outcome.reason)).toMatch(/CONNECTION_CLOSED|CONNECTION_ENDED|ECONNRESET|EPIPE/);
      }
    });
  }

  expect(lost).toBeGreaterThan(300);
  // The first statements find the connections that were lost last. After them, the pool can be used.
  await settled(Array.from({ length: 8 }, () => client.db.execute(sql`select 1`)));
  const after = await settled(Array.from({ length: 8 }, () => client.db.execute(sql`select 1`)));
  expect(after.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 'fulfilled'));
  await settled([client.close()]);
  const rows = await database.sql<{ run: number; steps: number }[]>`
    select run, count(*)::int as steps from written group by run`;
  // A statement that ran on another connection would stand alone.
  expect(rows.filter(({ steps }) => steps !== statements)).toEqual([]);
  const kept = new Set(rows.map(({ run }) => run));
  expect([...committed].filter((run) => !kept.has(run))).toEqual([]);
});

async function settled<T>(work: Promise<T>[]): Promise<PromiseSettledResult<T>[]> {
  let timeout: NodeJS.Timeout | undefined;
  const patienceIsOver = new Promise<never>((_, reject) => {
    timeout = setTimeout(() => reject(new Error('A promise was left open')), patience);
  });
  try {
    return await Promise.race([Promise.allSettled(work), patienceIsOver]);
  } finally {
    clearTimeout(timeout);
  }
}

function describeLoss(error: unknown): string {
  const parts: string[] = [];
  for (let one = error; one instanceof Error; one = one.cause)
    parts.push(String('code' in one ? one.code : one.message));
  return parts.join(' ');
}
