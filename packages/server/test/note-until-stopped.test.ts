import { execute, reachable, sqlText } from '@belay/db';
import { createWorld } from '@belay/testkit/world';
import { expect, it, vi } from 'vitest';
import { noteUntilStopped } from '../src/modes/serve.js';

it('counts the time of leases while the server listens, the beginning of an outage, and nothing after its end', async () => {
  await using world = await createWorld();
  const { database, context } = world;
  await database.setTime(new Date());
  const headers = {
    authorization: `Bearer ${await world.token('requester', 'device')}`,
    'content-type': 'application/json',
  };
  const body = JSON.stringify({ role: 'reader', reason: 'month end' });
  expect((await fetch(`${world.url}/api/v1/runs`, { method: 'POST', headers, body })).ok).toBe(true);
  const read = async () => {
    const rows = await execute<{ at: string }>(database.db, sqlText`select milliseconds as at from ${reachable}`);
    return Number(rows[0]?.at);
  };

  const pauses: { milliseconds: number; over(): void }[] = [];
  const delay = (milliseconds: number, signal?: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      pauses.push({ milliseconds, over: resolve });
      signal?.addEventListener('abort', () => reject(signal.reason));
    });
  const stops: (() => unknown)[] = [];
  noteUntilStopped({ ...context, delay }, { add: (_, stop) => void stops.push(stop) });

  /** Resolves when the loop has recorded `count` times and waits again. */
  const turn = (count: number) => vi.waitFor(() => expect(pauses).toHaveLength(count), { timeout: 30_000 });
  await turn(1);
  const first = await read();
  const { note, outage } = context.timing.run;
  await database.advance(note);
  pauses[0]?.over();
  await turn(2);
  expect(pauses[0]?.milliseconds).toBe(note);
  expect((await read()) - first).toBe(note);
  await database.advance(10 * outage);
  pauses[1]?.over();
  await turn(3);
  expect((await read()) - first).toBe(note + outage);
  for (const stop of stops) await stop();
  await database.advance(note);
  pauses[2]?.over();
  expect(pauses).toHaveLength(3);
  expect((await read()) - first).toBe(note + outage);
});
