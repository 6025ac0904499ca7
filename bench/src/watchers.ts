import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createLogin, openChanges, requestElevation } from '@belay/core';
import { sql } from 'drizzle-orm';
import { openBelay } from './belay/open.js';
import { openPostgres } from './postgres.js';
import { serveApp } from './serve-app.js';

export interface Watched {
  watchers: number;
  /** The share of one core that the server's process used, 1 for a whole core, while no execution changed. */
  atRest: number;
  /** The same share while executions changed. */
  busy: number;
  changesPerSecond: number;
  /** The share of the expected events that arrived while executions changed, 1 for all. */
  delivered: number;
}

/**
 * Measures how much of a core many event streams use. Another process reads them over HTTP; each watches an execution of its own that
 * waits for an approval. Afterwards `changesPerSecond` of these executions change each second.
 */
export async function measureWatchers(options: {
  watchers: number;
  milliseconds: number;
  changesPerSecond: number;
}): Promise<Watched> {
  const { watchers, milliseconds, changesPerSecond } = options;
  const postgres = await openPostgres({ max_connections: '200' });
  const url = await postgres.database('belay');
  const belay = await openBelay(url, { people: 50 });
  const changes = openChanges({ databaseUrl: url, log: belay.ctx.log, delay: belay.ctx.delay });
  const served = await serveApp({ ...belay.ctx, changes });
  const client = fork(fileURLToPath(new URL('./contenders/watchers.js', import.meta.url)));
  try {
    const ids: string[] = [];
    const streams: { url: string; token: string }[] = [];
    await Promise.all(
      belay.people.map(async (person, index) => {
        const { token } = await createLogin(belay.ctx, { user: person.actor, kind: 'device' });
        for (let mine = index; mine < watchers; mine += belay.people.length) {
          const { output } = await requestElevation(person, {
            role: 'reader',
            workflow: 'approve',
            reason: 'a benchmark',
          });
          const input = encodeURIComponent(JSON.stringify({ id: output.execution_id }));
          ids.push(output.execution_id);
          streams.push({ url: `${served.url}/trpc/executions.watch?input=${input}`, token });
        }
      }),
    );
    const opened = answer();
    client.send(streams);
    await opened;
    // The readers of a new stream look for events more often at first.
    await wait(2 * belay.ctx.timing.watchPoll);
    const atRest = await shareOfCore(() => wait(milliseconds));
    const before = await count();
    const busy = await shareOfCore(async () => {
      for (let done = 0; done < (milliseconds / 1000) * changesPerSecond; done += 1) {
        const id = ids[(done * 7) % ids.length] ?? '';
        await belay.ctx.db.execute(sql`
          with written as (
            insert into ledger (type, level, message, actor, execution_id)
            values ('bench.noted', 'info', 'A note of the benchmark', '{}', ${id}) returning execution_id
          ) select pg_notify('belay_ledger', execution_id::text) from written`);
        await wait(1000 / changesPerSecond);
      }
    });
    const delivered = ((await count()) - before) / Math.floor((milliseconds / 1000) * changesPerSecond);
    return { watchers, atRest, busy, changesPerSecond, delivered };
  } finally {
    client.disconnect();
    served.close();
    await changes.close();
    await belay.close();
    await postgres.stop();
  }

  async function count(): Promise<number> {
    const events = answer();
    client.send('count');
    return (await events) as number;
  }

  async function answer(): Promise<unknown> {
    const ended = once(client, 'exit').then(() => Promise.reject(new Error('The program that watches has ended')));
    const [said] = await Promise.race([once(client, 'message'), ended]);
    return said;
  }
}

async function shareOfCore(work: () => Promise<void>): Promise<number> {
  const started = performance.now();
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / (performance.now() - started);
}
