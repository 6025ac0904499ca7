import { limits } from '@belay/contract/limits';
import type { RunRequest } from '@belay/contract/runs';
import {
  beatRun,
  endLapsedRuns,
  endRun,
  extendElevation,
  listAccess,
  noteReachable,
  readConnections,
  requestElevation,
  startRun,
} from '@belay/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  access,
  approve,
  type Cast,
  minute,
  openCast,
  type Person,
  second,
  statusOf,
  together,
} from './support/stories.js';

let cast: Cast;
beforeEach(async () => {
  cast = await openCast();
});
afterEach(() => cast[Symbol.asyncDispose]());

const holds = () => cast.house.provider.holds('ada@example.com', access);
const asked: RunRequest = { role: 'reader', reason: 'a ticket', workflow: 'automatic', duration: 'PT30M' };

/** Starts a run of a person, and does the work that follows. */
async function start(changes: Partial<RunRequest> = {}, person: Person = cast.ada) {
  const run = await startRun(person, { ...asked, ...changes });
  await cast.house.work();
  return run;
}

/** Lets time pass in which a server can be reached, as a server and the sweeper see it. */
async function reach(milliseconds: number): Promise<void> {
  const { house } = cast;
  const { note } = house.ctx.timing.run;
  await noteReachable(house.ctx);
  for (let passed = 0; passed < milliseconds; passed += note) {
    await house.pass(note);
    await noteReachable(house.ctx);
    await endLapsedRuns(house.ctx);
  }
  await house.work();
}

describe('a run', () => {
  it('gives its access back when it ends, and repeats of the end return the same', async () => {
    const run = await start();
    expect(run).toMatchObject({ joined: false, lease: 'PT1M', beat: 'PT10S' });
    expect(await holds()).toBe(true);
    const outcome = { run_id: run.run_id, execution_id: run.execution_id, outcome: 'given_back' };
    expect(await endRun(cast.ada, run)).toEqual(outcome);
    await cast.house.work();
    expect([await holds(), await statusOf(cast.ada, run.execution_id)]).toEqual([false, 'completed']);
    expect(await endRun(cast.ada, run)).toEqual(outcome);
    await expect(beatRun(cast.ada, run)).rejects.toMatchObject({ code: 'conflict' });
  });

  it('keeps its access while its heartbeat comes, and loses it when it stays away for its lease', async () => {
    const run = await start();
    for (let beat = 0; beat < 8; beat += 1) {
      await reach(15 * second);
      await beatRun(cast.ada, run);
    }
    await reach(50 * second);
    expect(await holds()).toBe(true);
    await reach(15 * second);
    expect(await holds()).toBe(false);
    await expect(beatRun(cast.ada, run)).rejects.toMatchObject({ code: 'conflict' });
    const told = await cast.house.database.sql`select message, actor from ledger where type = 'run.lapsed'`;
    expect(told).toEqual([
      { message: 'The heartbeat of a command stopped: its access is given back', actor: { system: 'runs' } },
    ]);
  });

  it('loses 12 s of its lease to an outage of the servers, however long it is', async () => {
    await start();
    await reach(30 * second);
    await cast.house.pass(10 * 60 * second);
    await noteReachable(cast.house.ctx);
    await endLapsedRuns(cast.house.ctx);
    await reach(10 * second);
    expect(await holds()).toBe(true);
    await reach(10 * second);
    expect(await holds()).toBe(false);
  });

  it('ends its lease also beside servers that are too busy to note often that they can be reached', async () => {
    await start();
    await noteReachable(cast.house.ctx);
    const passed: boolean[] = [];
    for (let pause = 0; pause < 6; pause += 1) {
      await cast.house.pass(20 * second);
      await noteReachable(cast.house.ctx);
      await endLapsedRuns(cast.house.ctx);
      await cast.house.work();
      passed.push(await holds());
    }
    expect(passed).toEqual([true, true, true, true, false, false]);
  });

  it('joins the request of another run, and only the last of them gives back', async () => {
    const first = await start();
    const next = await start({ duration: undefined });
    expect(next).toMatchObject({ joined: true, execution_id: first.execution_id });
    expect(await endRun(cast.ada, first)).toMatchObject({ outcome: 'in_use' });
    await cast.house.work();
    expect(await holds()).toBe(true);
    expect(await endRun(cast.ada, next)).toMatchObject({ outcome: 'given_back' });
    await cast.house.work();
    expect(await holds()).toBe(false);
  });

  it('takes the extensions of its access with it: those that are active, and those that wait for approval', async () => {
    const { house, ada, grace } = cast;
    const active = await start();
    await house.pass(minute);
    await extendElevation(ada, { id: active.execution_id });
    await house.work();
    expect(await endRun(ada, active)).toMatchObject({ outcome: 'given_back' });
    await house.work();
    expect(await holds()).toBe(false);
    const waiting = await start({ workflow: 'approved' });
    await approve(grace, waiting.execution_id);
    await house.work();
    await house.pass(minute);
    const { output } = await extendElevation(ada, { id: waiting.execution_id });
    await house.work();
    await endRun(ada, waiting);
    await house.work();
    await expect(approve(grace, output.execution_id)).rejects.toMatchObject({ code: 'conflict' });
    expect([await holds(), await statusOf(ada, output.execution_id)]).toEqual([false, 'cancelled']);
  });

  it('leaves the access while another run uses its extension, and the last one gives both back', async () => {
    const { house, ada } = cast;
    const first = await start();
    await house.pass(minute);
    const { output } = await extendElevation(ada, { id: first.execution_id });
    await house.work();
    const second = await start();
    expect(second).toMatchObject({ joined: true, execution_id: output.execution_id });
    expect(await endRun(ada, first)).toMatchObject({ outcome: 'in_use' });
    await house.work();
    expect(await holds()).toBe(true);
    expect(await endRun(ada, second)).toMatchObject({ outcome: 'given_back' });
    await house.work();
    expect(await holds()).toBe(false);
  });

  it('is started again and again only up to a limit, until one ends', async () => {
    const { ada } = cast;
    const first = await start();
    for (let started = 1; started < limits.runs; started += 1) await startRun(ada, asked);
    await expect(startRun(ada, asked)).rejects.toMatchObject({ code: 'too_many_requests' });
    await endRun(ada, first);
    expect(await startRun(ada, asked)).toMatchObject({ joined: true });
  });

  it('joins access of its own without regard to the runs of other requests', async () => {
    const { ada, alan, house } = cast;
    const { output } = await requestElevation(ada, asked as RunRequest & { role: string });
    await house.work();
    await endRun(alan, await start({}, alan));
    expect(await start()).toMatchObject({ joined: true, execution_id: output.execution_id });
  });

  it('leaves access that no run requested', async () => {
    const { output } = await requestElevation(cast.ada, asked as RunRequest & { role: string });
    await cast.house.work();
    const run = await start({ duration: undefined });
    expect(run).toMatchObject({ joined: true, execution_id: output.execution_id });
    expect(await endRun(cast.ada, run)).toMatchObject({ outcome: 'left' });
    await cast.house.work();
    expect([await holds(), (await listAccess(cast.ada)).access.length]).toEqual([true, 1]);
  });

  it('requests again when what is live ends too early, or was requested for runs that have ended', async () => {
    const first = await start();
    await cast.house.pass(10 * 60 * second);
    expect(await start()).toMatchObject({ joined: false });
    await endRun(cast.ada, first);
    const [one, other] = await Promise.all([startRun(cast.ada, asked), startRun(cast.ada, asked)]);
    expect(one.execution_id).toBe(other.execution_id);
  });

  it('requests again when what is live is about to end, and the end of each run leaves the access of the other', async () => {
    const { house, ada } = cast;
    const first = await start();
    await house.pass(24 * minute);
    const second = await start({ duration: undefined });
    await house.pass(2 * minute);
    const third = await start({ duration: undefined });
    expect([second.execution_id === first.execution_id, third.joined]).toEqual([true, false]);
    expect(await together([endRun(ada, first), endRun(ada, second)])).toHaveLength(2);
    await house.work();
    expect([await holds(), await statusOf(ada, first.execution_id)]).toEqual([true, 'completed']);
    expect(await endRun(ada, third)).toMatchObject({ outcome: 'given_back' });
    await house.work();
    expect(await holds()).toBe(false);
  });

  it('joins short access for the first half of its time', async () => {
    const first = await start({ duration: 'PT4M' });
    await cast.house.pass(minute);
    expect(await start({ duration: undefined })).toMatchObject({ execution_id: first.execution_id });
    await cast.house.pass(1.5 * minute);
    expect(await start({ duration: undefined })).toMatchObject({ joined: false });
  });

  it('cancels a request that waits for approval when its run ends or its heartbeat stays away', async () => {
    const ended = await start({ workflow: 'approved' });
    expect(await endRun(cast.ada, ended)).toMatchObject({ outcome: 'given_back' });
    const lapsed = await start({ workflow: 'approved' });
    expect(lapsed.joined).toBe(false);
    await reach(70 * second);
    for (const { execution_id: id } of [ended, lapsed]) {
      expect(await statusOf(cast.ada, id)).toBe('cancelled');
      await expect(approve(cast.grace, id)).rejects.toMatchObject({ code: 'conflict' });
    }
    expect(await holds()).toBe(false);
  });

  it('is not found by other people, who can neither keep nor end it', async () => {
    const run = await start();
    for (const person of [cast.grace, cast.mallory]) {
      expect(await together([beatRun(person, run), endRun(person, run)])).toEqual(['not_found', 'not_found']);
    }
    expect(await together([beatRun(cast.ada, { run_id: 'x' }), endRun(cast.ada, { run_id: 'x' })])).toEqual([
      'not_found',
      'not_found',
    ]);
    expect(await holds()).toBe(true);
  });

  it('shows where its systems are to its owner alone, and nothing where the configuration does not share it', async () => {
    const run = await start();
    expect(await readConnections(cast.ada, run)).toEqual({ connections: [] });
    await expect(readConnections(cast.mallory, run)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('rejects a lease that is too short or too long', async () => {
    for (const lease of ['PT29S', 'PT16M']) {
      await expect(startRun(cast.ada, { ...asked, lease })).rejects.toMatchObject({ code: 'invalid' });
    }
  });

  it('gives back in the end when the process stops between the end of the run and that of the access', async () => {
    const run = await start();
    await cast.house.database.sql`
      update runs set ended_at = app_now(), outcome = 'given_back', due_at = 0 where id = ${run.run_id}`;
    await endLapsedRuns(cast.house.ctx);
    await cast.house.work();
    expect(await holds()).toBe(false);
    await reach(40 * second);
    const [row] = await cast.house.database.sql`select settled_at is not null as settled from runs`;
    expect(row).toEqual({ settled: true });
  });

  it('reads only what is due, by its index, however many runs there were', async () => {
    const run = await start();
    await cast.house.database.sql`
      insert into runs (id, execution_id, user_id, requested, lease, due_at, ended_at, outcome, settled_at)
      select gen_random_uuid(), ${run.execution_id}, ${cast.ada.actor.id}, false, 1000, 0, app_now(), 'left', app_now()
      from generate_series(1, ${process.env.CI ? 20_000 : 5_000}::int)`;
    await cast.house.database.sql`analyze runs`;
    const plan = await cast.house.database.sql`
      explain select id from runs where settled_at is null and due_at <= (select milliseconds from reachable)
      order by due_at limit 200`;
    expect(JSON.stringify(plan)).toContain('runs_due_idx');
  });
});
