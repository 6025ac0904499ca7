import { readdirSync, readFileSync } from 'node:fs';
import sdk from '@serverlessworkflow/sdk';
import { describe, expect, it } from 'vitest';
import { deliver, loadWorkflow, parseState, resolve, restoreState, storeState, type Transition } from '../src/index.js';
import type { CloudEvent, Json, Outcome } from '../src/types.js';
import { parsed, sharedPool } from './support/drive.js';

// States as earlier versions of the machine stored them. They are never rewritten: a waiting execution may have such a
// state in its row, and must still be able to end. A new version of the state adds files beside them.
const folder = new URL('./golden/', import.meta.url);

interface Golden {
  workflow: Json;
  state: { [key: string]: Json; input: Json };
  moves: ({ resolve: string; outcome: Outcome } | { send: CloudEvent })[];
  expected: { status: string; output?: Json };
}

describe('a state stored before', () => {
  const files = readdirSync(folder).filter((name) => name.endsWith('.json'));

  it('exists for every kind of waiting', () => {
    const kinds = files.flatMap((name) =>
      [...readFileSync(new URL(name, folder), 'utf8').matchAll(/"is": "(\w+)"/g)].map(([, is]) => is),
    );
    expect([...new Set(kinds)].sort()).toEqual(
      ['done', 'failed', 'for', 'fork', 'function', 'listen', 'open', 'paused', 'step', 'try', 'do'].sort(),
    );
  });

  it.each(files)('%s has a definition that the specification’s own SDK accepts', (name) => {
    const { workflow } = JSON.parse(readFileSync(new URL(name, folder), 'utf8'));
    // The SDK knows only version 1.0.0 of the DSL, which is the same in all parts that are used here.
    const definition = { ...workflow, document: { ...workflow.document, dsl: '1.0.0' } };
    expect(() => sdk.validate('Workflow', definition)).not.toThrow();
  });

  it.each(files)('%s still loads and ends', async (name) => {
    const golden = JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as Golden;
    const workflow = loadWorkflow(golden.workflow);
    expect(parsed(golden.workflow)).toEqual(golden.workflow);
    const env = { now: '2026-02-01T00:00:00.000Z', executionId: 'golden', evaluate: sharedPool().evaluate };
    let state = restoreState(golden.state, golden.state.input);
    let last: Transition | null = null;
    for (const move of golden.moves) {
      last =
        'send' in move
          ? await deliver(workflow, state, move.send, env)
          : await resolve(workflow, state, move.resolve, move.outcome, env);
      if (!last) throw new Error('the event was not wanted');
      state = restoreState(JSON.parse(JSON.stringify(storeState(last.state))), golden.state.input);
    }
    expect(last).toMatchObject({ ...golden.expected, close: expect.any(Array) });
    expect(Object.keys(state.open)).toEqual([]);
  });

  it.each([
    null,
    {},
    { v: 2 },
    { v: 1 },
    { v: 1, status: 'waiting', startedAt: 'x', input: {}, context: {}, open: {}, root: null, more: 1 },
    { v: 1, status: 'waiting', startedAt: 'x', input: {}, context: {}, open: { a: 'other' }, root: null },
    { v: 1, status: 'waiting', startedAt: 'x', input: {}, context: {}, open: {}, root: { at: '/do' } },
  ])('is rejected when it is not a state: %j', (value) => {
    expect(() => parseState(value)).toThrow(TypeError);
  });
});
