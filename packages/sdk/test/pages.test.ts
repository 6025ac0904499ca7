import { describe, expect, expectTypeOf, it } from 'vitest';
import { createClient, type Execution, type ExecutionList, type WorkflowStatus } from '../src/index.js';

/** Returns a client of a service with lists of requests, and the input of every call. */
function serving(answers: Record<string, unknown>[]) {
  const asked: unknown[] = [];
  const client = createClient({
    url: 'http://belay.invalid',
    fetch: async (input) => {
      asked.push(JSON.parse(new URL(input).searchParams.get('input') ?? 'null'));
      return Response.json({ result: { data: answers[Math.min(asked.length, answers.length) - 1] } });
    },
  });
  return { client, asked };
}

const pages = [
  { executions: [{ workflow_id: 'a' }, { workflow_id: 'b' }], next: 'n1' },
  { executions: [], next: 'n2' },
  { executions: [{ workflow_id: 'c' }], next: null },
];

describe('lists of requests', () => {
  it('are their first page when they are awaited', async () => {
    const { client, asked } = serving(pages);
    const list = await client.executions.list({ status: 'past', limit: 2, cursor: 'n0' });
    expect(list.next).toBe('n1');
    expect(asked).toEqual([{ status: 'past', limit: 2, cursor: 'n0' }]);
    expectTypeOf(list).toEqualTypeOf<ExecutionList>();
  });

  it('go through every page in a loop, also through an empty one, and read each once', async () => {
    const { client, asked } = serving(pages);
    const found: string[] = [];
    for await (const execution of client.executions.list({ q: 'x' })) {
      expectTypeOf(execution).toEqualTypeOf<Execution>();
      found.push(execution.workflow_id);
    }
    expect(found).toEqual(['a', 'b', 'c']);
    expect(asked).toEqual([{ q: 'x' }, { q: 'x', cursor: 'n1' }, { q: 'x', cursor: 'n2' }]);
  });

  it('ask nothing for a page that a loop does not reach', async () => {
    const { client, asked } = serving(pages);
    for await (const _ of client.executions.list()) break;
    expect(asked).toHaveLength(1);
  });

  it('have unions of the statuses and verdicts that there are', () => {
    expectTypeOf<Execution['status']>().toEqualTypeOf<WorkflowStatus>();
    expectTypeOf<'approve' | 'deny'>().toEqualTypeOf<Execution['decided_by'][number]['verdict']>();
    expectTypeOf<'waiting'>().toExtend<WorkflowStatus>();
  });
});

describe('waiting until access is active', () => {
  it('asks again until it is, and says why it is not any more', async () => {
    const { client, asked } = serving([{ state: 'waiting_for_approval' }, { state: 'granting' }, { state: 'active' }]);
    expect(await client.executions.waitUntilActive('e-1')).toMatchObject({ state: 'active' });
    expect(asked).toHaveLength(3);
    const denied = serving([{ state: 'denied' }]);
    await expect(denied.client.executions.waitUntilActive('e-1')).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('denied'),
    });
  });
});
