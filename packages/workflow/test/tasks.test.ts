import { describe, expect, it } from 'vitest';
import { standardFault } from '../src/index.js';
import { execute, parsed, workflowOf } from './support/drive.js';

describe('do, set, switch and then', () => {
  it('pass the data from task to task', async () => {
    const run = await execute(
      workflowOf({ do: [{ a: { set: { n: 1 } } }, { b: { set: { m: '${ .n }', t: 'is ${ .n }!' } } }] }),
    );
    expect(run).toMatchObject({ status: 'completed', output: { m: 1, t: 'is 1!' } });
  });

  it('gives a repeated task another key', async () => {
    const workflow = workflowOf({
      do: [
        { ask: { call: 'ask' } },
        { more: { switch: [{ again: { when: '.again', then: 'ask' } }, { done: { then: 'exit' } }] } },
        { never: { set: { never: true } } },
      ],
    });
    const run = await execute(workflow);
    expect(run.keys()).toEqual(['/do/0/ask#0']);
    await run.succeed('/do/0/ask#0', { again: true });
    expect(run.keys()).toEqual(['/do/0/ask#1']);
    await run.succeed('/do/0/ask#1', { again: false });
    expect(run).toMatchObject({ status: 'completed', output: { again: false } });
  });

  it('end ends the workflow from any depth, exit only its own list', async () => {
    const inner = (then: string) => [
      { outer: { do: [{ first: { set: { at: 'first' }, then } }, { second: { set: { at: 'second' } } }] } },
      { last: { set: { at: '${ .at + "-last" }' } } },
    ];
    expect((await execute(workflowOf({ do: inner('end') }))).output).toEqual({ at: 'first' });
    expect((await execute(workflowOf({ do: inner('exit') }))).output).toEqual({ at: 'first-last' });
  });

  it('skips a task whose if is false, and its then', async () => {
    const workflow = workflowOf({
      do: [{ a: { if: '.n > 1', set: { n: 5 }, then: 'end' } }, { b: { set: { n: '${ .n + 1 }' } } }],
    });
    expect((await execute(workflow, { n: 1 })).output).toEqual({ n: 2 });
    expect((await execute(workflow, { n: 2 })).output).toEqual({ n: 5 });
  });

  it('takes the first case that is true, and the case without a condition only when none is', async () => {
    const cases = [{ other: { then: 'none' } }, { one: { when: '.n == 1', then: 'end' } }];
    const workflow = workflowOf({ do: [{ s: { switch: cases } }, { none: { set: { none: true } } }] });
    expect((await execute(workflow, { n: 1 })).output).toEqual({ n: 1 });
    expect((await execute(workflow, { n: 2 })).output).toEqual({ none: true });
  });
});

describe('input, output and export', () => {
  it('validate, transform and keep a context', async () => {
    const workflow = workflowOf({
      input: { schema: { document: { type: 'object', required: ['user'] } }, from: '.user' },
      do: [
        {
          a: {
            input: { from: { name: '${ .name }' } },
            set: { hello: '${ .name }', raw: '${ $task.input.name }', id: '${ $workflow.id }' },
            output: { as: '{ hello, raw, id, before: $input.name }' },
            export: { as: '$context + { greeted: $output.hello }' },
          },
        },
        { b: { set: '${ $context }' } },
      ],
      output: { as: '{ context: ., name: $workflow.definition.document.name }' },
    });
    expect((await execute(workflow, { user: { name: 'ada' } })).output).toEqual({
      context: { name: 'ada', greeted: 'ada' },
      name: 'test',
    });
    expect(await execute(workflow, {})).toMatchObject({
      status: 'faulted',
      fault: { status: 400, type: 'https://serverlessworkflow.io/spec/1.0.0/errors/validation', instance: '/input' },
    });
  });

  it('fault with the task as instance when a schema or an expression fails', async () => {
    const schema = { document: { type: 'string' } };
    for (const part of [{ input: { schema } }, { output: { schema } }, { export: { schema } }]) {
      const run = await execute(workflowOf({ do: [{ a: { set: { x: 1 }, ...part } }] }), {});
      expect(run).toMatchObject({ status: 'faulted', fault: { status: 400, instance: '/do/0/a' } });
    }
    expect(await execute(workflowOf({ do: [{ a: { set: '${ .x.y.z }' } }] }), { x: 'text' })).toMatchObject({
      status: 'faulted',
      fault: { ...standardFault('expression'), instance: '/do/0/a' },
    });
  });

  it('contain the start times of an execution and its tasks', async () => {
    const set = {
      at: '${ $task.startedAt.epoch.seconds }',
      since: '${ $workflow.startedAt.iso8601 }',
      by: '${ $runtime.name }',
    };
    const run = await execute(workflowOf({ do: [{ a: { set } }] }));
    expect(run.output).toEqual({ at: 1767225600, since: '2026-01-01T00:00:00.000Z', by: 'belay' });
  });
});

describe('for', () => {
  const workflow = workflowOf({
    do: [
      {
        each: {
          for: { each: 'pet', in: '.pets', at: 'n' },
          while: '.stop != true',
          do: [{ ask: { call: 'ask', with: { pet: '${ $pet }', n: '${ $n }' } } }],
        },
      },
    ],
  });

  it('runs its tasks once per item, one after the other', async () => {
    const run = await execute(workflow, { pets: ['a', 'b'] });
    expect(run.open).toMatchObject([
      { key: '/do/0/each/do/0/ask#0.0.0', kind: 'call', request: { call: 'ask', with: { pet: 'a', n: 0 } } },
    ]);
    await run.succeed('/do/0/each/do/0/ask#0.0.0', { one: 1 });
    expect(run.open).toMatchObject([{ key: '/do/0/each/do/0/ask#0.1.0', request: { with: { pet: 'b', n: 1 } } }]);
    await run.succeed('/do/0/each/do/0/ask#0.1.0', { two: 2 });
    expect(run).toMatchObject({ status: 'completed', output: { two: 2 } });
  });

  it('stops when while is false', async () => {
    const run = await execute(workflow, { pets: ['a', 'b'] });
    await run.succeed('/do/0/each/do/0/ask#0.0.0', { stop: true });
    expect(run).toMatchObject({ status: 'completed', output: { stop: true } });
  });

  it('passes the data through when there are no items, and faults when there is no array', async () => {
    expect((await execute(workflow, { pets: [] })).output).toEqual({ pets: [] });
    expect(await execute(workflow, { pets: 1 })).toMatchObject({ status: 'faulted', fault: { status: 400 } });
  });
});

describe('fork', () => {
  const branches = [
    { a: { call: 'ask' } },
    {
      b: {
        do: [
          { pause: { wait: 'PT1M' } },
          { inner: { fork: { branches: [{ c: { call: 'ask' } }, { d: { call: 'ask' } }] } } },
        ],
      },
    },
  ];
  const A = '/do/0/all/fork/branches/0/a#0.0';
  const PAUSE = '/do/0/all/fork/branches/1/b/do/0/pause#0.0.0';
  const C = '/do/0/all/fork/branches/1/b/do/1/inner/fork/branches/0/c#0.0.0.0';
  const D = '/do/0/all/fork/branches/1/b/do/1/inner/fork/branches/1/d#0.0.0.0';

  it('waits for all, and keeps their order, whichever ends first', async () => {
    const run = await execute(workflowOf({ do: [{ all: { fork: { branches } } }] }), { n: 1 });
    expect(run.keys()).toEqual([A, PAUSE]);
    expect(run.status).toBe('running');
    await run.fire(PAUSE);
    await run.succeed(D, 'd');
    await run.succeed(A, 'a');
    await run.succeed(C, 'c');
    expect(run).toMatchObject({ status: 'completed', output: ['a', ['c', 'd']] });
  });

  it('stops the others when one branch faults', async () => {
    const run = await execute(workflowOf({ do: [{ all: { fork: { branches } } }] }));
    await run.fire(PAUSE);
    await run.fail(C, standardFault('communication'));
    expect(run).toMatchObject({
      status: 'faulted',
      fault: { status: 500, instance: '/do/0/all/fork/branches/1/b/do/1/inner/fork/branches/0/c' },
    });
    expect(run.open).toEqual([]);
    const cancelled = run.events
      .filter((event) => event.type.endsWith('task.cancelled.v1'))
      .map((event) => event.data.task);
    expect(cancelled).toEqual([
      '/do/0/all/fork/branches/1/b/do/1/inner/fork/branches/1/d',
      '/do/0/all/fork/branches/0/a',
    ]);
  });

  it('competing: the first to end decides, and later outcomes change nothing', async () => {
    const run = await execute(
      workflowOf({ do: [{ all: { fork: { compete: true, branches } } }, { x: { wait: 'PT1S' } }] }),
    );
    await run.succeed(A, 'won');
    expect(run.keys()).toEqual(['/do/1/x#0']);
    const before = run.text;
    await run.fire('/do/1/x#0');
    expect(run.output).toBe('won');
    expect(before).not.toBe(run.text);
  });

  it('competing: never opens what a branch that ended immediately has made unnecessary', async () => {
    const race = [{ slow: { call: 'ask' } }, { quick: { set: { quick: true } } }];
    const run = await execute(workflowOf({ do: [{ race: { fork: { compete: true, branches: race } } }] }));
    expect(run).toMatchObject({ status: 'completed', output: { quick: true }, open: [] });
  });
});

describe('a step that is not open', () => {
  it('changes nothing, before and after the end', async () => {
    const run = await execute(workflowOf({ do: [{ a: { call: 'ask' } }] }));
    const before = run.text;
    await run.succeed('/do/0/a#7', 1);
    expect(JSON.parse(run.text)).toEqual(JSON.parse(before));
    await run.succeed('/do/0/a#0', 1);
    const after = run.text;
    await run.succeed('/do/0/a#0', 2);
    expect(JSON.parse(run.text)).toEqual(JSON.parse(after));
    expect(run.status).toBe('completed');
  });
});

describe('call', () => {
  it('keeps of a fault only what the DSL names', async () => {
    const run = await execute(
      workflowOf({ do: [{ t: { try: [{ a: { call: 'ask' } }], catch: { retry: { delay: 'PT1S' } } } }] }),
    );
    const fault = { ...standardFault('runtime'), cause: 'hunter2', stack: 'hunter2' };
    await run.fail('/do/0/t/try/0/a#0.0.0', fault);
    expect(run.text).not.toContain('hunter2');
    await run.fire('/do/0/t#0:retry.0');
    expect(run.keys()).toEqual(['/do/0/t/try/0/a#0.1.0']);
  });

  it('http evaluates everything into the request', async () => {
    const workflow = workflowOf({
      use: { authentications: { mine: { bearer: { token: '${ .token }' } } } },
      do: [
        {
          get: {
            call: 'http',
            with: {
              method: 'post',
              endpoint: { uri: 'https://api.example/{id}/{no}{pet.id}', authentication: { use: 'mine' } },
              headers: { 'x-id': '${ .id }' },
              query: '${ { q: .id } }',
              body: { id: '${ .id }', list: ['${ .n }'] },
              output: 'response',
              redirect: true,
            },
          },
        },
      ],
    });
    const run = await execute(workflow, { id: 'a/b ?', token: 't', n: 3, 'pet.id': true });
    expect(run.open[0]?.request).toEqual({
      call: 'http',
      with: {
        method: 'post',
        uri: 'https://api.example/a%2Fb%20%3F/true',
        headers: { 'x-id': 'a/b ?' },
        query: { q: 'a/b ?' },
        body: { id: 'a/b ?', list: [3] },
        output: 'response',
        redirect: true,
        authentication: { bearer: { token: 't' } },
      },
    });
  });

  it('http accepts uri for endpoint, and faults on a template value that is not a scalar', async () => {
    const workflow = workflowOf({
      do: [{ get: { call: 'http', with: { method: 'get', uri: 'https://api.example/{id}' } } }],
    });
    expect((await execute(workflow, { id: 1 })).open).toMatchObject([
      { request: { with: { uri: 'https://api.example/1' } } },
    ]);
    expect(await execute(workflow, { id: {} })).toMatchObject({ status: 'faulted', fault: { status: 400 } });
  });

  it('runs a function of the workflow in place, with the values of with', async () => {
    const workflow = workflowOf({
      use: {
        functions: {
          twice: { do: [{ one: { call: 'ask', with: { n: '${ .n }' } } }, { two: { call: 'tell' } }] },
        },
      },
      do: [
        {
          all: {
            fork: { branches: [{ a: { call: 'twice', with: { n: 1 } } }, { b: { call: 'twice', with: { n: 2 } } }] },
          },
        },
      ],
    });
    const run = await execute(workflow);
    expect(run.open.map((step) => step.request)).toEqual([
      { call: 'ask', with: { n: 1 } },
      { call: 'ask', with: { n: 2 } },
    ]);
    for (const key of run.keys()) await run.succeed(key, key);
    for (const key of run.keys()) await run.succeed(key, key);
    expect(run.output).toEqual([
      '/do/0/all/fork/branches/0/a/twice/do/1/two#0.0.0',
      '/do/0/all/fork/branches/1/b/twice/do/1/two#0.0.0',
    ]);
  });
});

describe('emit', () => {
  it('creates a complete CloudEvent, the same each time it is computed', async () => {
    const workflow = workflowOf({
      do: [
        { tell: { emit: { event: { with: { source: 'https://a.example', type: 'a.b', data: { n: '${ .n }' } } } } } },
      ],
    });
    const event = {
      specversion: '1.0',
      id: 'e1/do/0/tell#0',
      time: '2026-01-01T00:00:00.000Z',
      source: 'https://a.example',
      type: 'a.b',
      data: { n: 1 },
    };
    const run = await execute(workflow, { n: 1 });
    expect(run.emitted).toEqual([event]);
    expect(run.output).toEqual(event);
  });
});

describe('raise', () => {
  it('raises an error of the workflow, with its expressions', async () => {
    const errors = {
      broken: { type: 'https://a.example/broken', status: 418, title: '${ .what }', detail: 'is ${ .what }' },
    };
    const run = await execute(workflowOf({ use: { errors }, do: [{ r: { raise: { error: 'broken' } } }] }), {
      what: 'tea',
    });
    expect(run.fault).toEqual({
      type: 'https://a.example/broken',
      status: 418,
      title: 'tea',
      detail: 'is tea',
      instance: '/do/0/r',
    });
  });
});

describe('lifecycle events', () => {
  it('have the names and data of the DSL and no data of the workflow', async () => {
    const run = await execute(
      parsed({
        document: { dsl: '1.0.3', namespace: 'ns', name: 'wf', version: '1.2.3' },
        do: [
          { a: { set: { secret: 'hunter2' } } },
          { b: { raise: { error: { type: 'https://e.example', status: 500, detail: '${ .secret }' } } } },
        ],
      }),
    );
    const at = '2026-01-01T00:00:00.000Z';
    const workflow = 'wf-e1.ns';
    const error = { type: 'https://e.example', status: 500, instance: '/do/1/b' };
    expect(run.events).toEqual([
      {
        type: 'io.serverlessworkflow.workflow.started.v1',
        at,
        data: { name: workflow, definition: { name: 'wf', namespace: 'ns', version: '1.2.3' }, startedAt: at },
      },
      { type: 'io.serverlessworkflow.task.started.v1', at, data: { workflow, task: '/do/0/a', startedAt: at } },
      { type: 'io.serverlessworkflow.task.completed.v1', at, data: { workflow, task: '/do/0/a', completedAt: at } },
      { type: 'io.serverlessworkflow.task.started.v1', at, data: { workflow, task: '/do/1/b', startedAt: at } },
      { type: 'io.serverlessworkflow.task.faulted.v1', at, data: { workflow, task: '/do/1/b', faultedAt: at, error } },
      { type: 'io.serverlessworkflow.workflow.faulted.v1', at, data: { name: workflow, faultedAt: at, error } },
    ]);
    expect(JSON.stringify(run.events)).not.toContain('hunter2');
  });
});
