import { getExecution } from '@belay/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { approve, ask, type Cast, catalogWith, minute, openCast, runOut, statusOf } from './support/stories.js';

describe('what an execution stores', () => {
  let cast: Cast;
  beforeEach(async () => {
    cast = await openCast();
  });
  afterEach(() => cast[Symbol.asyncDispose]());

  it('is its definition once for all executions that were started with it', async () => {
    const { house, ada, alan } = cast;
    await ask(house, ada);
    await ask(house, alan);
    await ask(house, ada, { workflow: 'automatic' });
    const { sql } = house.database;
    const rows = await sql`
      select e.workflow, e.definition, d.document -> 'document' ->> 'name' as stored
      from executions e join definitions d on d.digest = e.definition_digest order by e.created_at`;
    expect(rows.map(({ workflow, definition, stored }) => [workflow, definition, stored])).toEqual([
      ['approved', null, 'approved'],
      ['approved', null, 'approved'],
      ['automatic', null, 'automatic'],
    ]);
    expect([...(await sql`select count(*)::int as count from definitions`)]).toEqual([{ count: 2 }]);
  });

  it('is its input once, however many tasks it is handed to', async () => {
    const { house, ada } = cast;
    const { sql } = house.database;
    // A wait hands on what it was handed.
    await house.applyCatalog(catalogWith({ patient: [{ first: { wait: 'PT1M' } }, { second: { wait: 'PT1M' } }] }));
    const id = await ask(house, ada, { workflow: 'patient' });
    const copies = async () => {
      const [row] = await sql`select state::text from executions where id = ${id}`;
      return String(row?.state).split('a ticket').length - 1;
    };
    expect(await copies()).toBe(0);
    await house.pass(minute);
    expect(await copies()).toBe(0);
    await house.pass(minute);
    expect(await getExecution(ada, { id })).toMatchObject({ status: 'completed', output: { reason: 'a ticket' } });
  });

  it('goes on when a version before stored it, with its own definition and a whole state', async () => {
    const { house, ada, grace } = cast;
    const { sql } = house.database;
    const id = await ask(house, ada);
    await sql`
      update executions set definition = (select document from definitions where digest = definition_digest),
        definition_digest = 'of a version before',
        state = jsonb_set(state || jsonb_build_object('input', input, 'context', input), '{root,current,input}', input)
      where id = ${id}`;
    await approve(grace, id);
    await house.work();
    expect(house.provider.held()).toHaveLength(1);
    await runOut(house);
    expect(await statusOf(ada, id)).toBe('completed');
  });

  it('is rejected without its definition, which the next request then stores again', async () => {
    const { house, ada } = cast;
    await ask(house, ada);
    // What a database loses that is put back to an earlier time.
    await house.database.sql`update executions set definition_digest = 'lost'`;
    await house.database.sql`delete from definitions`;
    await expect(ask(house, ada)).rejects.toThrow();
    expect(await statusOf(ada, await ask(house, ada))).toBe('waiting');
  });
});
