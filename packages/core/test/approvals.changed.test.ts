import { getExecution } from '@belay/core';
import { performStep } from '@belay/engine';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { gateOf, someoneWaits } from './support/gate.js';
import { access, approve, ask, type Cast, openCast } from './support/stories.js';

describe('approvals that change after a grant was judged by them, and before its intent has the lock', () => {
  let cast: Cast;
  beforeEach(async () => {
    cast = await openCast();
  });
  afterEach(() => cast[Symbol.asyncDispose]());

  /** What another process may commit for the same request, under the execution's lock. */
  const changes = {
    'a denial of what was approved': `update approvals set status = 'denied' where execution_id = $1`,
    'an approval that is requested in another branch': `
      insert into approvals (id, execution_id, step_key, stage, rule, excluded, known_as, subject, request_digest, status, expires_at)
      select gen_random_uuid(), execution_id, '/do/9/other#0', 0, rule, excluded, known_as, subject, request_digest, 'open', expires_at
      from approvals where execution_id = $1`,
    'a denial in another branch': `
      insert into approvals (id, execution_id, step_key, stage, rule, excluded, known_as, subject, request_digest, status, expires_at, closed_at)
      select gen_random_uuid(), execution_id, '/do/9/other#0', 0, rule, excluded, known_as, subject, request_digest, 'denied', expires_at, app_now()
      from approvals where execution_id = $1`,
  };
  const cases = Object.keys(changes).flatMap((change) =>
    [true, false].map((joined): [string, boolean] => [change, joined]),
  );

  it.each(cases)('grant nothing: %s (with the move that opens the call: %s)', async (change, joined) => {
    const { house, ada, grace } = cast;
    const { sql } = house.database;
    const id = await ask(house, ada);
    await approve(grace, id);
    const gate = gateOf(house, 'holds');
    const [step] = await sql<{ key: string }[]>`select key from steps where execution_id = ${id} and status = 'open'`;
    const turn = { executionId: id, key: step?.key ?? '' };
    const performing = performStep(gate.ctx, turn, joined ? { leased: true } : {});
    await gate.reached;
    const holder = await sql.reserve();
    await holder`begin`;
    await holder`select from executions where id = ${id} for update`;
    await holder.unsafe(changes[change as keyof typeof changes], [id]);
    gate.open();
    await someoneWaits(house);
    await holder`commit`;
    holder.release();
    await performing;
    await house.work();
    expect(house.provider.holds('ada@example.com', access)).toBe(false);
    expect(house.provider.count('ensurePresent')).toBe(0);
    expect((await getExecution(ada, { id })).grants).toEqual([]);
  });
});
