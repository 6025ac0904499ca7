import { getExecution, requestElevation, upsertUser, withActor } from '@belay/core';
import { performStep, TURN } from '@belay/engine';
import { send } from '@belay/testkit/serve';
import { sweep } from '@belay/testkit/sweep';
import { createWorld, people } from '@belay/testkit/world';
import { createExpressionPool } from '@belay/workflow';
import { expect, it } from 'vitest';

const workflowOf = (name: string, tasks: unknown[]) => ({
  description: name,
  workflow: { document: { dsl: '1.0.3', namespace: 'test', name, version: '1.0.0' }, do: tasks },
});

/** Each program ends when its processor time is used up, and the next one begins. */
const endless = workflowOf('endless', [
  { spin: { try: [{ burn: { set: { a: '${ last(repeat(1)) }' } } }], catch: {}, then: 'spin' } },
]);
const brief = workflowOf('brief', [{ count: { set: { n: '${ [1, 2] | length }' } } }]);

/** More than the pool has threads, several times. */
const executions = process.env.CI ? 25 : 10;

it(`answers, and evaluates the expression of another request, beside ${executions} executions that only compute without an end`, async () => {
  await using world = await createWorld({
    server: { limits: { open_requests: 30 } },
    change: ({ roles, workflows, ...document }) => ({
      ...document,
      roles: { ...roles, reader: { ...roles.reader, workflows: ['endless', 'brief'] } },
      workflows: { ...workflows, endless, brief },
    }),
  });
  const { context } = world;
  const { subject, ...rita } = people.requester;
  const known = { ...rita, id: context.newId(), provider: 'demo', subject, groups: [...rita.groups] };
  const user = await upsertUser(context.db, known);
  await world.token('requester');
  const [login] = await world.database.sql`select id from logins where user_id = ${user.id}`;
  const requester = withActor(context, { kind: 'user', ...user, loginId: String(login?.id), by: 'browser' });
  const request = async (workflow: string) =>
    (await requestElevation(requester, { role: 'reader', reason: 'a test', workflow })).output.execution_id;

  // Programs that have used all of their time are the clock of this test: a busy machine slows all of it alike.
  let ended = 0;
  const { evaluate, close } = createExpressionPool();
  context.evaluate = async (...given) => {
    try {
      return await evaluate(...given);
    } finally {
      if (given[0].includes('repeat')) ended += 1;
    }
  };
  const counted = async (work: () => Promise<unknown>) => {
    const before = ended;
    await work();
    return ended - before;
  };

  for (let n = 0; n < executions; n += 1) await request('endless');
  let stopped = false;
  const worker = async () => {
    while (!stopped) await sweep(context);
  };
  const workers = [worker(), worker()];
  try {
    await expect.poll(() => ended, { timeout: 60_000 }).toBeGreaterThan(2);
    // A program takes 250 ms, and two of them run at a time: were each response to wait for one, they would be twenty.
    let during = 0;
    const ready = async () => expect((await send(`${world.url}/ready`)).status).toBe(200);
    for (let n = 0; n < 20 && during < 20; n += 1) during += await counted(ready);
    expect(during).toBeLessThan(20);
    const id = await request('brief');
    // In a place of its own, as a worker has 64 of them.
    const waited = await counted(() => performStep(context, { executionId: id, key: TURN }));
    expect((await getExecution(requester, { id })).status).toBe('completed');
    // One program of others at each thread, and what ends while its rows are read and written.
    expect(waited).toBeLessThanOrEqual(4);
  } finally {
    stopped = true;
    // What still waits for its time need not use it.
    await close();
    await Promise.all(workers);
  }
});
