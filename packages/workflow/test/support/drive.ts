import { afterAll } from 'vitest';
import {
  begin,
  createExpressionPool,
  deliver,
  type Env,
  type ExpressionPool,
  interrupt,
  type Json,
  type Outcome,
  parseState,
  parseWorkflow,
  resolve,
  type Step,
  type Transition,
  type Workflow,
} from '../../src/index.js';
import type { CallCheck, CloudEvent, Fault, LifecycleEvent } from '../../src/types.js';

let pool: ExpressionPool | undefined;

/** Returns one pool for a test file; it is closed when the file is done. */
export function sharedPool(): ExpressionPool {
  if (!pool) {
    pool = createExpressionPool();
    const opened = pool;
    afterAll(() => opened.close());
  }
  return pool;
}

/** The functions that definitions of tests may call, with any `with`. */
export const anyFunction: { [name: string]: CallCheck } = { ask: () => [], 'access.grant': () => [], tell: () => [] };

/** Returns the definition. Throws an error that lists what is wrong with it. */
export function parsed(source: unknown, functions = anyFunction): Workflow {
  const result = parseWorkflow(source, { functions });
  if (!result.ok)
    throw new Error(result.issues.map((issue) => `${issue.code} ${issue.path} ${issue.message}`).join('\n'));
  return result.workflow;
}

/** Returns a definition with the given tasks, the rest filled in. */
export function workflowOf(parts: { do: unknown; [part: string]: unknown }): Workflow {
  return parsed({ document: { dsl: '1.0.3', namespace: 'test', name: 'test', version: '1.0.0' }, ...parts });
}

/**
 * One execution driven by a test: keeps the state as JSON text between transitions, the open steps, and a clock that
 * moves only when the test moves it. Checks the machine's promises about steps at every transition.
 */
export interface Execution {
  readonly status: Transition['status'];
  readonly open: Step[];
  readonly output: Json | undefined;
  readonly fault: Fault | undefined;
  readonly events: LifecycleEvent[];
  readonly emitted: CloudEvent[];
  readonly text: string;
  now: string;
  keys(): string[];
  resolve(key: string, outcome: Outcome): Promise<Execution>;
  succeed(key: string, value: Json): Promise<Execution>;
  fail(key: string, fault: Fault): Promise<Execution>;
  /** Moves the clock to when a timer is due, and fires it. */
  fire(key: string): Promise<Execution>;
  send(event: Partial<CloudEvent> & { type: string }): Promise<boolean>;
  cancel(): Promise<Execution>;
  /** Returns the names of the tasks that ran, in order. */
  ran(): string[];
}

export async function execute(
  workflow: Workflow,
  input: Json = {},
  options: { now?: string; executionId?: string; state?: string; open?: Step[]; evaluate?: Env['evaluate'] } = {},
): Promise<Execution> {
  const evaluate = options.evaluate ?? sharedPool().evaluate;
  const env = (): Env => ({ now: execution.now, executionId: options.executionId ?? 'e1', evaluate });
  const steps = new Map<string, Step>((options.open ?? []).map((step) => [step.key, step]));
  const ended = new Set<string>();
  const events: LifecycleEvent[] = [];
  const emitted: CloudEvent[] = [];
  let last: Transition | undefined;
  let text = options.state ?? '';
  let sent = 0;

  const take = (transition: Transition): Execution => {
    for (const step of transition.open) {
      if (steps.has(step.key) || ended.has(step.key)) throw new Error(`${step.key} was opened twice`);
      steps.set(step.key, step);
    }
    for (const key of transition.close) {
      if (!steps.delete(key)) throw new Error(`${key} was closed without being open`);
      ended.add(key);
    }
    if (['completed', 'faulted', 'cancelled'].includes(transition.status) && steps.size > 0) {
      throw new Error(`ended with open steps: ${[...steps.keys()].join(', ')}`);
    }
    const expected = [...steps.values()].some((step) => step.kind === 'call') ? 'running' : 'waiting';
    if (steps.size > 0 && transition.status !== expected) throw new Error(`${transition.status}, not ${expected}`);
    events.push(...transition.events);
    emitted.push(...transition.emitted);
    text = JSON.stringify(transition.state);
    last = transition;
    return execution;
  };
  const state = () => parseState(JSON.parse(text));

  const execution: Execution = {
    now: options.now ?? '2026-01-01T00:00:00.000Z',
    get status() {
      return last?.status ?? 'running';
    },
    get open() {
      return [...steps.values()];
    },
    get output() {
      return last?.output;
    },
    get fault() {
      return last?.fault;
    },
    get text() {
      return text;
    },
    events,
    emitted,
    keys: () => [...steps.keys()],
    async resolve(key, outcome) {
      if (steps.delete(key)) ended.add(key);
      return take(await resolve(workflow, state(), key, outcome, env()));
    },
    succeed: (key, value) => execution.resolve(key, { ok: true, value }),
    fail: (key, fault) => execution.resolve(key, { ok: false, fault }),
    async fire(key) {
      const step = steps.get(key);
      if (step?.kind !== 'timer' || !step.dueAt) throw new Error(`${key} is not an open timer`);
      if (step.dueAt > execution.now) execution.now = step.dueAt;
      return await execution.resolve(key, { ok: true, value: null });
    },
    async send(event) {
      sent += 1;
      const whole: CloudEvent = { specversion: '1.0', id: `event-${sent}`, source: 'https://test.example', ...event };
      const transition = await deliver(workflow, state(), whole, env());
      if (transition) take(transition);
      return transition !== null;
    },
    cancel: async () => take(await interrupt(workflow, state(), env())),
    ran: () =>
      events
        .filter((event) => event.type === 'io.serverlessworkflow.task.started.v1')
        .map((event) => String(event.data.task).split('/').at(-1) ?? ''),
  };
  return options.state ? execution : take(await begin(workflow, input, env()));
}
