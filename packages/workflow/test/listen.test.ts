import { describe, expect, it } from 'vitest';
import { resolve } from '../src/index.js';
import { execute, sharedPool, workflowOf } from './support/drive.js';

const KEY = '/do/0/l#0';
const listen = (to: unknown, more: object = {}, read?: string) =>
  workflowOf({ do: [{ l: { listen: { to, ...(read ? { read } : {}) }, ...more } }] });

describe('listen', () => {
  it('one: waits for its event, and describes it', async () => {
    const run = await execute(
      listen({ one: { with: { type: 'a.b', source: 'https://s.example', data: '${ .ok }' } } }),
    );
    expect(run).toMatchObject({ status: 'waiting' });
    expect(run.open).toEqual([
      { key: KEY, kind: 'event', request: { listen: 'one', events: [{ type: 'a.b', source: 'https://s.example' }] } },
    ]);
    expect(await run.send({ type: 'a.c', source: 'https://s.example', data: { ok: true } })).toBe(false);
    expect(await run.send({ type: 'a.b', source: 'https://other.example', data: { ok: true } })).toBe(false);
    expect(await run.send({ type: 'a.b', source: 'https://s.example', data: { ok: false } })).toBe(false);
    expect(await run.send({ type: 'a.b', source: 'https://s.example', data: 'a form no one expected' })).toBe(false);
    expect(run.keys()).toEqual([KEY]);
    expect(await run.send({ type: 'a.b', source: 'https://s.example', data: { ok: true } })).toBe(true);
    expect(run).toMatchObject({ status: 'completed', output: [{ ok: true }], open: [] });
    expect(await run.send({ type: 'a.b', source: 'https://s.example', data: { ok: true } })).toBe(false);
  });

  it('reads data, the envelope, or the data as text', async () => {
    const event = { type: 'a', data: { n: 1 } };
    const outputOf = async (read: string) => {
      const run = await execute(listen({ one: { with: { type: 'a' } } }, {}, read));
      await run.send(event);
      return run.output;
    };
    expect(await outputOf('data')).toEqual([{ n: 1 }]);
    expect(await outputOf('raw')).toEqual(['{"n":1}']);
    expect(await outputOf('envelope')).toEqual([
      { specversion: '1.0', id: 'event-1', source: 'https://test.example', ...event },
    ]);
  });

  it('an expression may return what an attribute must equal, and an object checks the properties that it names', async () => {
    const data = { person: { name: '${ $input.name }' }, kind: 'x' };
    const workflow = workflowOf({
      do: [{ l: { listen: { to: { one: { with: { subject: '${ $workflow.id }', data } } } } } }],
    });
    const run = await execute(workflow, { name: 'ada' });
    const sent = (subject: string, name: string) =>
      run.send({ type: 't', subject, data: { person: { name, age: 3 }, kind: 'x', more: true } });
    expect(await sent('e2', 'ada')).toBe(false);
    expect(await sent('e1', 'bob')).toBe(false);
    expect(await sent('e1', 'ada')).toBe(true);
  });

  it('any: the first event that matches; an empty list accepts every event', async () => {
    const some = await execute(listen({ any: [{ with: { type: 'a' } }, { with: { type: 'b' } }] }));
    expect(await some.send({ type: 'c' })).toBe(false);
    expect(await some.send({ type: 'b', data: 2 })).toBe(true);
    expect(some.output).toEqual([2]);
    const every = await execute(listen({ any: [] }));
    expect(await every.send({ type: 'whatever' })).toBe(true);
    expect(every.output).toEqual([null]);
  });

  it('all: an event per filter, in the order of their arrival', async () => {
    const run = await execute(listen({ all: [{ with: { type: 'a' } }, { with: { type: 'b' } }] }));
    expect(await run.send({ type: 'b', data: 'b' })).toBe(true);
    expect(run).toMatchObject({ status: 'waiting' });
    expect(run.keys()).toEqual([KEY]);
    expect(await run.send({ type: 'b', data: 'again' })).toBe(false);
    expect(await run.send({ type: 'a', data: 'a' })).toBe(true);
    expect(run).toMatchObject({ status: 'completed', output: ['b', 'a'] });
  });

  it('any until a condition on what was consumed', async () => {
    const run = await execute(listen({ any: [], until: '( . | length ) > 2' }));
    for (const n of [1, 2, 3]) {
      expect(run.status).toBe('waiting');
      await run.send({ type: 'x', data: n });
    }
    expect(run).toMatchObject({ status: 'completed', output: [1, 2, 3] });
  });

  it('any until other events, which are no part of the output', async () => {
    const run = await execute(
      listen({ any: [{ with: { type: 'a' } }], until: { all: [{ with: { type: 'x' } }, { with: { type: 'y' } }] } }),
    );
    await run.send({ type: 'a', data: 1 });
    expect(await run.send({ type: 'x' })).toBe(true);
    expect(await run.send({ type: 'x' })).toBe(false);
    await run.send({ type: 'a', data: 2 });
    expect(await run.send({ type: 'y' })).toBe(true);
    expect(run).toMatchObject({ status: 'completed', output: [1, 2] });
  });

  it('correlates with the expected value, or otherwise with the first one', async () => {
    const filter = (type: string) => ({ with: { type }, correlate: { room: { from: '.roomid' } } });
    const first = await execute(listen({ all: [filter('hot'), filter('wet')] }));
    expect(await first.send({ type: 'hot' })).toBe(false);
    expect(await first.send({ type: 'hot', roomid: 'r1' })).toBe(true);
    expect(await first.send({ type: 'wet', roomid: 'r2' })).toBe(false);
    expect(await first.send({ type: 'wet', roomid: 'r1' })).toBe(true);
    expect(first.status).toBe('completed');
    const correlate = { id: { from: '.data.id', expect: '${ .id }' }, fixed: { from: '.data.n', expect: '5' } };
    const expected = await execute(listen({ one: { with: { type: 'a' }, correlate } }), { id: 7 });
    expect(await expected.send({ type: 'a', data: { id: 8, n: 5 } })).toBe(false);
    expect(await expected.send({ type: 'a', data: { id: 7, n: 6 } })).toBe(false);
    expect(await expected.send({ type: 'a', data: { id: 7, n: 5 } })).toBe(true);
  });

  it('foreach processes the events one at a time, in order, while more arrive', async () => {
    const foreach = {
      item: 'event',
      at: 'i',
      do: [{ ask: { call: 'ask', with: { event: '${ $event }', i: '${ $i }' } } }],
      output: { as: '{ answer: ., event: $event }' },
      export: { as: '($context // {}) + { seen: $i }' },
    };
    const run = await execute(
      listen({ any: [{ with: { type: 'a' } }], until: { one: { with: { type: 'stop' } } } }, { foreach }),
    );
    await run.send({ type: 'a', data: 'first' });
    await run.send({ type: 'a', data: 'second' });
    expect(run.keys()).toEqual([KEY, '/do/0/l/foreach/do/0/ask#0.0.0']);
    await run.send({ type: 'stop' });
    expect(run.keys()).toEqual(['/do/0/l/foreach/do/0/ask#0.0.0']);
    await run.succeed('/do/0/l/foreach/do/0/ask#0.0.0', 1);
    expect(run.open).toMatchObject([
      { key: '/do/0/l/foreach/do/0/ask#0.1.0', request: { with: { event: 'second', i: 1 } } },
    ]);
    await run.succeed('/do/0/l/foreach/do/0/ask#0.1.0', 2);
    expect(run.output).toEqual([
      { answer: 1, event: 'first' },
      { answer: 2, event: 'second' },
    ]);
    expect(JSON.parse(run.text).context).toEqual({ seen: 1 });
  });

  it('foreach: a true condition ends the listening, and later events are left out', async () => {
    const foreach = { do: [{ ask: { call: 'ask', with: { event: '${ $item }' } } }] };
    const run = await execute(listen({ any: [], until: '. | length == 1' }, { foreach }));
    await run.send({ type: 'a', data: 1 });
    await run.send({ type: 'a', data: 2 });
    await run.succeed('/do/0/l/foreach/do/0/ask#0.0.0', 'done');
    expect(run).toMatchObject({ status: 'completed', output: ['done'], open: [] });
  });

  it('an event goes to every task that listened before it, and not to tasks that it starts', async () => {
    const one = { listen: { to: { one: { with: { type: 'a' } } } } };
    const run = await execute(
      workflowOf({
        do: [{ f: { fork: { branches: [{ x: { do: [{ first: one }, { second: one }] } }, { y: one }] } } }],
      }),
    );
    expect(run.keys()).toHaveLength(2);
    await run.send({ type: 'a', data: 1 });
    expect(run.keys()).toEqual(['/do/0/f/fork/branches/0/x/do/1/second#0.0.0']);
    await run.send({ type: 'a', data: 2 });
    expect(run.output).toEqual([[2], [1]]);
  });

  it('ends with its timeout, and with a cancellation, including foreach', async () => {
    const foreach = { do: [{ ask: { call: 'ask' } }] };
    const workflow = listen({ any: [], until: '${ false }' }, { foreach, timeout: { after: 'PT1M' } });
    const late = await execute(workflow);
    await late.send({ type: 'a' });
    expect(late.keys()).toHaveLength(3);
    await late.fire(`${KEY}:timeout`);
    expect(late).toMatchObject({ status: 'faulted', fault: { status: 408 }, open: [] });
    const cancelled = await execute(workflow);
    await cancelled.send({ type: 'a' });
    await cancelled.cancel();
    expect(cancelled).toMatchObject({ status: 'cancelled', open: [] });
  });

  it('cannot be resolved, only delivered to', async () => {
    const workflow = listen({ any: [] });
    const run = await execute(workflow);
    const env = { now: run.now, executionId: 'e1', evaluate: sharedPool().evaluate };
    await expect(resolve(workflow, JSON.parse(run.text), KEY, { ok: true, value: 1 }, env)).rejects.toThrow(TypeError);
  });
});
