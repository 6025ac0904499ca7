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

/** Each program of this workflow is stopped when its processor time is used up, and then the next one starts. */
const endless = workflowOf('endless', [
  { spin: { try: [{ burn: { set: { a: '${ last(repeat(1)) }' } } }], catch: {}, then: 'spin' } },
]);
const brief = workflowOf('brief', [{ count: { set: { n: '${ [1, 2] | length }' } } }]);

/** Several times more than the pool has threads. */
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

  // This test counts programs that ended, not seconds, because a busy machine slows programs and responses alike.
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
    // If each of the twenty responses waited for a program, at least twenty programs would end.
    let during = 0;
    const ready = async () => expect((await send(`${world.url}/ready`)).status).toBe(200);
    for (let n = 0; n < 20 && during < 20; n += 1) during += await counted(ready);
    expect(during).toBeLessThan(20);
    const id = await request('brief');
    // Performed beside the two sweeps, as a worker does: it performs up to 64 steps at a time.
    const waited = await counted(() => performStep(context, { executionId: id, key: TURN }));
    expect((await getExecution(requester, { id })).status).toBe('completed');
    // One program of another execution on each thread, and programs that end while the rows are read and written.
    expect(waited).toBeLessThanOrEqual(4);
  } finally {
    stopped = true;
    // Programs that still wait do not have to run.
    await close();
    await Promise.all(workers);
  }
});
