import { describe, expect, it } from 'vitest';
import { CANCELLED, standardFault } from '../src/index.js';
import { execute, workflowOf } from './support/drive.js';

const ASK = { ask: { call: 'ask' } };

describe('wait and timeout', () => {
  it('wait opens a timer and passes the data through', async () => {
    const run = await execute(workflowOf({ do: [{ w: { wait: { minutes: 1, milliseconds: 5 } } }] }), { n: 1 });
    expect(run.status).toBe('waiting');
    expect(run.open).toEqual([
      { key: '/do/0/w#0', kind: 'timer', request: { purpose: 'wait' }, dueAt: '2026-01-01T00:01:00.005Z' },
    ]);
    await run.fire('/do/0/w#0');
    expect(run).toMatchObject({ status: 'completed', output: { n: 1 } });
  });

  it('a duration may be an expression; a value that is not a duration is a fault', async () => {
    const workflow = workflowOf({ do: [{ w: { wait: '${ .for }' } }] });
    expect((await execute(workflow, { for: 'PT2S' })).open).toMatchObject([{ dueAt: '2026-01-01T00:00:02.000Z' }]);
    expect((await execute(workflow, { for: '2s' })).open).toMatchObject([{ dueAt: '2026-01-01T00:00:02.000Z' }]);
    expect(await execute(workflow, { for: 'soon' })).toMatchObject({ status: 'faulted', fault: { status: 400 } });
  });

  it('a task and its timeout close each other, whichever ends first', async () => {
    const workflow = workflowOf({
      use: { timeouts: { short: { after: 'PT5S' } } },
      do: [{ outer: { timeout: 'short', do: [ASK] } }],
    });
    const won = await execute(workflow);
    expect(won.keys()).toEqual(['/do/0/outer#0:timeout', '/do/0/outer/do/0/ask#0.0']);
    await won.succeed('/do/0/outer/do/0/ask#0.0', 1);
    expect(won).toMatchObject({ status: 'completed', open: [] });
    const lost = await execute(workflow);
    await lost.fire('/do/0/outer#0:timeout');
    expect(lost).toMatchObject({
      status: 'faulted',
      fault: { ...standardFault('timeout'), instance: '/do/0/outer' },
      open: [],
    });
  });

  it('the workflow has a timeout too, which nothing can catch', async () => {
    const run = await execute(
      workflowOf({
        timeout: { after: 'PT1H' },
        do: [{ t: { try: [ASK], catch: { do: [{ s: { set: { caught: true } } }] } } }],
      }),
    );
    await run.fire('/timeout#0');
    expect(run).toMatchObject({ status: 'faulted', fault: { status: 408, instance: '/timeout' }, open: [] });
  });
});

describe('try, catch and retry', () => {
  const tryOf = (catching: object, more: object = {}) =>
    workflowOf({ do: [{ t: { try: [ASK], catch: catching } }], ...more });
  const KEY = '/do/0/t/try/0/ask#0.0.0';

  it('catches by either spelling of a standard type, and gives the handler the error by its name', async () => {
    const workflow = tryOf({
      errors: { with: { type: 'https://serverlessworkflow.io/dsl/errors/types/communication', status: 503 } },
      as: 'problem',
      do: [{ s: { set: { why: '${ $problem.title }', where: '${ $problem.instance }' } } }],
    });
    const run = await execute(workflow);
    await run.fail(KEY, standardFault('communication', { status: 503, title: 'down' }));
    expect(run).toMatchObject({ status: 'completed', output: { why: 'down', where: '/do/0/t/try/0/ask' } });
    const other = await execute(workflow);
    await other.fail(KEY, standardFault('communication'));
    expect(other.status).toBe('faulted');
  });

  it('when and exceptWhen decide on the error', async () => {
    const catching = { when: '$error.status > 400', exceptWhen: '$error.status == 404' };
    for (const [status, expected] of [
      [400, 'faulted'],
      [404, 'faulted'],
      [500, 'completed'],
    ] as const) {
      const run = await execute(tryOf(catching), { kept: true });
      await run.fail(KEY, standardFault('communication', { status }));
      expect(run.status).toBe(expected);
    }
  });

  it.each([
    ['constant', [3, 3, 3]],
    ['linear', [3, 6, 9]],
    ['exponential', [3, 6, 12]],
  ])('retries with a %s backoff until the count is reached, and then faults', async (backoff, delays) => {
    const retry = { delay: { seconds: 3 }, backoff: { [backoff]: {} }, limit: { attempt: { count: 3 } } };
    const run = await execute(tryOf({ retry: 'policy' }, { use: { retries: { policy: retry } } }));
    for (const [attempt, delay] of delays.entries()) {
      await run.fail(`/do/0/t/try/0/ask#0.${attempt}.0`, standardFault('communication'));
      expect(run.status).toBe('waiting');
      const [timer] = run.open;
      expect(timer?.request).toEqual({ purpose: 'retry' });
      expect(Date.parse(timer?.dueAt ?? '') - Date.parse(run.now)).toBe(delay * 1000);
      await run.fire(`/do/0/t#0:retry.${attempt}`);
    }
    await run.fail('/do/0/t/try/0/ask#0.3.0', standardFault('communication'));
    expect(run).toMatchObject({ status: 'faulted', fault: { status: 500 } });
    expect(run.events.filter((event) => event.type.endsWith('task.retried.v1'))).toHaveLength(3);
  });

  it('handles the error when the retries are used up', async () => {
    const run = await execute(
      tryOf({ retry: { limit: { attempt: { count: 1 } } }, do: [{ s: { set: { gave: 'up' } } }] }),
    );
    await run.fail(KEY, standardFault('communication'));
    await run.fire('/do/0/t#0:retry.0');
    await run.fail('/do/0/t/try/0/ask#0.1.0', standardFault('communication'));
    expect(run).toMatchObject({ status: 'completed', output: { gave: 'up' } });
  });

  it('limits the time of one attempt, and of all together', async () => {
    const retry = { delay: 'PT10S', limit: { duration: 'PT25S', attempt: { duration: 'PT5S' } } };
    const run = await execute(tryOf({ errors: { with: { status: 408 } }, retry }));
    await run.fire('/do/0/t#0:attempt.0');
    await run.fire('/do/0/t#0:retry.0');
    expect(run.now).toBe('2026-01-01T00:00:15.000Z');
    await run.fire('/do/0/t#0:attempt.1');
    expect(run).toMatchObject({ status: 'faulted', fault: { status: 408, instance: '/do/0/t' }, open: [] });
  });

  it('spreads retries by a jitter that is the same each time it is computed', async () => {
    const workflow = tryOf({ retry: { delay: 'PT1S', jitter: { from: 'PT1S', to: 'PT11S' } } });
    const dueOf = async (executionId: string) => {
      const run = await execute(workflow, {}, { executionId });
      await run.fail(KEY, standardFault('communication'));
      return Date.parse(run.open[0]?.dueAt ?? '') - Date.parse(run.now);
    };
    const delays = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map(dueOf));
    expect(await dueOf('a')).toBe(delays[0]);
    expect(new Set(delays).size).toBe(6);
    for (const delay of delays) {
      expect(delay).toBeGreaterThanOrEqual(2000);
      expect(delay).toBeLessThanOrEqual(12_000);
    }
  });

  it('does not retry when the condition of the policy is false', async () => {
    const run = await execute(tryOf({ retry: { when: '$error.status == 503' } }));
    await run.fail(KEY, standardFault('communication'));
    expect(run.status).toBe('faulted');
  });
});

describe('cancel', () => {
  const cleaning = (handler: unknown[]) => ({ errors: { with: { type: CANCELLED } }, do: handler });

  it('ends the execution immediately when no catch names the type, even if they catch other errors', async () => {
    const run = await execute(
      workflowOf({
        timeout: { after: 'PT1H' },
        do: [{ t: { try: [ASK], catch: { do: [{ s: { set: { caught: true } } }] } } }],
      }),
    );
    await run.cancel();
    expect(run).toMatchObject({
      status: 'cancelled',
      fault: { type: CANCELLED, instance: '/do/0/t/try/0/ask' },
      open: [],
    });
    expect(run.output).toBeUndefined();
    expect(run.events.at(-1)?.type).toBe('io.serverlessworkflow.workflow.cancelled.v1');
  });

  it.each([
    ['ends well', true],
    ['faults', false],
  ])('runs the cleanup undisturbed, and is cancelled when it %s', async (_how, ok) => {
    const workflow = workflowOf({
      do: [
        {
          outer: {
            timeout: { after: 'PT1M' },
            do: [{ t: { try: [ASK], catch: cleaning([{ undo: { call: 'tell' } }]) } }],
          },
        },
        { after: { set: { never: true } } },
      ],
    });
    const run = await execute(workflow);
    await run.cancel();
    const UNDO = '/do/0/outer/do/0/t/catch/do/0/undo#0.0.0.0';
    expect(run.keys()).toEqual([UNDO]);
    const before = run.text;
    await run.cancel();
    expect(JSON.parse(run.text)).toEqual(JSON.parse(before));
    await run.resolve(UNDO, ok ? { ok: true, value: 1 } : { ok: false, fault: standardFault('runtime') });
    expect(run).toMatchObject({ status: 'cancelled', fault: { type: CANCELLED }, open: [] });
    expect(run.ran()).not.toContain('after');
  });

  it('lets every branch clean up, and then the tasks around them', async () => {
    const branch = { try: [ASK], catch: cleaning([{ undo: { call: 'tell' } }]) };
    const workflow = workflowOf({
      do: [
        {
          t: {
            try: [{ f: { fork: { branches: [{ a: branch }, { b: branch }, { c: { wait: 'PT1H' } }] } } }],
            catch: cleaning([{ last: { call: 'tell' } }]),
          },
        },
      ],
    });
    const run = await execute(workflow);
    await run.cancel();
    const undo = run.keys();
    expect(undo).toHaveLength(2);
    await run.succeed(undo[1] ?? '', 1);
    expect(run.keys()).toEqual([undo[0]]);
    await run.fail(undo[0] ?? '', standardFault('runtime'));
    expect(run.keys()).toEqual(['/do/0/t/catch/do/0/last#0.0.0']);
    await run.succeed('/do/0/t/catch/do/0/last#0.0.0', 1);
    expect(run.status).toBe('cancelled');
  });

  it('does not change the behaviour of a fork or a try inside the cleanup', async () => {
    const race = { fork: { compete: true, branches: [{ x: { call: 'tell' } }, { y: { call: 'tell' } }] } };
    const handler = [
      { race },
      { ignore: { try: [{ z: { call: 'tell' } }], catch: {} } },
      { finally: { call: 'tell' } },
    ];
    const run = await execute(workflowOf({ do: [{ t: { try: [ASK], catch: cleaning(handler) } }] }));
    await run.cancel();
    await run.succeed(run.keys()[0] ?? '', 1);
    expect(run.keys()).toEqual(['/do/0/t/catch/do/1/ignore/try/0/z#0.0.0.0.0']);
    await run.fail(run.keys()[0] ?? '', standardFault('runtime'));
    expect(run.keys()).toEqual(['/do/0/t/catch/do/2/finally#0.0.0']);
    await run.succeed(run.keys()[0] ?? '', 1);
    expect(run.status).toBe('cancelled');
  });

  it('reaches a try that is waiting for its next attempt', async () => {
    const catching = { retry: { delay: 'PT1H' } };
    const workflow = workflowOf({
      do: [{ o: { try: [{ t: { try: [ASK], catch: catching } }], catch: cleaning([{ undo: { call: 'tell' } }]) } }],
    });
    const run = await execute(workflow);
    await run.fail('/do/0/o/try/0/t/try/0/ask#0.0.0.0.0', standardFault('communication'));
    expect(run.status).toBe('waiting');
    await run.cancel();
    expect(run.keys()).toEqual(['/do/0/o/catch/do/0/undo#0.0.0']);
  });

  it('closes the timers around a cleanup, so that they cannot interrupt it', async () => {
    const inner = { try: [ASK], catch: cleaning([{ undo: { call: 'tell' } }]) };
    const retry = { limit: { attempt: { duration: 'PT5S' } } };
    const run = await execute(
      workflowOf({ do: [{ o: { timeout: { after: 'PT9S' }, try: [{ inner }], catch: { retry } } }] }),
    );
    expect(run.keys()).toHaveLength(3);
    await run.cancel();
    expect(run.keys()).toEqual(['/do/0/o/try/0/inner/catch/do/0/undo#0.0.0.0.0']);
  });

  it('does nothing to an execution that has ended', async () => {
    const run = await execute(workflowOf({ do: [{ a: { set: { a: 1 } } }] }));
    await run.cancel();
    expect(run.status).toBe('completed');
  });
});

describe('fuel', () => {
  const endless = workflowOf({ do: [{ a: { set: { n: 1 } } }, { b: { set: { n: 2 }, then: 'a' } }] });

  it('turns an endless loop into a pause that can be continued, and cancelled', async () => {
    const run = await execute(endless);
    expect(run.status).toBe('waiting');
    expect(run.open).toMatchObject([{ kind: 'timer', request: { purpose: 'continue' }, dueAt: run.now }]);
    const [first] = run.keys();
    await run.fire(first ?? '');
    expect(run.status).toBe('waiting');
    expect(run.keys()).not.toEqual([first]);
    await run.cancel();
    expect(run).toMatchObject({ status: 'cancelled', open: [] });
  });

  it('ends an execution whose data has become too large to store, in depth or in length', async () => {
    const event = { emit: { event: { with: { type: 'a', source: 'b', data: '${ . }' } } } };
    for (const grown of [{ a: '${ . }' }, { a: '${ . }', b: '${ . }' }]) {
      const set = { set: grown, export: { as: '$output' } };
      const run = await execute(workflowOf({ do: [{ a: set }, { b: event }, { c: { ...set, then: 'a' } }] }));
      expect(run.text.length).toBeLessThan(1000);
      expect(run.emitted).toEqual([]);
      expect(run).toMatchObject({ status: 'faulted', fault: { type: standardFault('runtime').type }, open: [] });
    }
  });

  it.each(['a\u0000b', '\ud800'])('ends an execution with text that no database stores: %j', async (text) => {
    const ask = workflowOf({ do: [ASK, { w: { wait: 'PT1S' } }] });
    for (const value of [text, { deep: [text] }, { [text]: 1 }]) {
      const run = await execute(ask);
      await run.succeed('/do/0/ask#0', value);
      expect(run).toMatchObject({ status: 'faulted', fault: { type: standardFault('runtime').type }, open: [] });
      const begun = await execute(ask, value);
      expect(begun).toMatchObject({ status: 'faulted', open: [] });
      expect(JSON.parse(begun.text).input).toBeNull();
    }
    const raise = {
      raise: { error: { type: 'https://a.example', status: 400, title: '${ .[0] }', detail: '${ . }' } },
    };
    const failing = await execute(workflowOf({ do: [ASK, { raise }] }));
    await failing.fail('/do/0/ask#0', standardFault('runtime', { detail: text, title: text }));
    const raised = await execute(workflowOf({ do: [{ s: { set: '${ .list }' } }, { raise }] }), { list: ['x'] });
    expect(raised.fault).toMatchObject({ title: 'x', detail: '["x"]' });
    expect(JSON.stringify([failing.fault, failing.events])).not.toMatch(/\\u0000|\\ud800/);
  });

  it('names a field that no database stores with a replacement character in its fault', async () => {
    const schema = { document: { additionalProperties: { type: 'string' } } };
    const run = await execute(workflowOf({ do: [{ ask: { call: 'ask', output: { schema } } }] }));
    await run.succeed('/do/0/ask#0', { 'a\u0000b': 1 });
    expect(run).toMatchObject({ status: 'faulted', fault: { detail: 'output: /a\uFFFDb must be string' } });
    const wait = await execute(workflowOf({ do: [ASK, { w: { wait: '${ . }' } }] }));
    await wait.succeed('/do/0/ask#0', { '\ud800': 1 });
    expect(JSON.stringify([wait.status, wait.fault])).toMatch(/^\["faulted"(?!.*\\ud800)/);
  });

  it('ends an execution whose own output cannot be stored', async () => {
    const run = await execute(workflowOf({ output: { as: '${ {a: "\\u0000"} }' }, do: [{ s: { set: { a: 1 } } }] }));
    expect(run).toMatchObject({
      status: 'faulted',
      fault: { type: standardFault('runtime').type, instance: '/output' },
    });
  });

  it('faults an execution that makes a text of data that is nested too deep', async () => {
    const nest = { for: { in: '$workflow.input' }, do: [{ s: { set: { a: '${ . }' } } }] };
    const list = Array.from({ length: 9_000 }, () => 0);
    const run = await execute(workflowOf({ do: [{ nest }, { text: { set: { a: 'x ${ . }' } } }] }), list);
    expect(run).toMatchObject({ status: 'faulted', fault: { type: standardFault('runtime').type }, open: [] });
  });

  it('lets a long loop end', async () => {
    const items = Array.from({ length: 12_000 }, (_, index) => index);
    const workflow = workflowOf({ do: [{ f: { for: { in: '.' }, do: [{ s: { set: '${ $item }' } }] } }] });
    const run = await execute(workflow, items);
    expect(run.status).toBe('waiting');
    await run.fire(run.keys()[0] ?? '');
    expect(run).toMatchObject({ status: 'completed', output: 11_999 });
  });
});
