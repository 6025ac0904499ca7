import { z } from 'zod';
import type { Fault, Json, StepKey } from '../types.js';

/** A running list of tasks: its place, how it was reached, and its current task. */
export interface ListFrame {
  /** JSON pointer of the list in the definition. */
  at: string;
  /** The start of its tasks' keys, before and after the `#`. */
  key: string;
  path: string;
  index: number;
  /** How often a `then` jumped back; part of the keys, so that a repeated task has another key. */
  lap: number;
  current: Frame | null;
}

/** What a task remembers while it waits, by its kind of waiting rather than its kind of task. */
export type Body =
  | { is: 'paused' }
  | { is: 'step' }
  | { is: 'do'; list: ListFrame }
  | { is: 'function'; frame: Frame | null }
  | { is: 'for'; items: Json[]; index: number; list: ListFrame }
  | { is: 'fork'; branches: Branch[]; cancelled?: boolean }
  | { is: 'try'; phase: 'try' | 'retry' | 'catch' | 'cleanup'; attempt: number; fault?: Fault; list: ListFrame | null }
  | ListenBody;

export type Branch = { is: 'open'; frame: Frame } | { is: 'done'; value: Json } | { is: 'failed'; fault: Fault };

export interface ListenBody {
  is: 'listen';
  listening: boolean;
  /** Which filters of `all` have had their event; the same for an `until` that is itself a strategy. */
  matched: number[];
  untilMatched: number[];
  expected: { [name: string]: Json };
  /** Events that wait for `foreach`; the first one is being processed. */
  queue: Json[];
  outputs: Json[];
  list: ListFrame | null;
}

/** A task that was reached and has not ended. */
export interface Frame {
  /** JSON pointer of the task in the definition. */
  task: string;
  key: string;
  startedAt: string;
  /** The raw input, and the transformed one if the task has an `input.from`. */
  input: Json;
  taken?: Json;
  body: Body | null;
}

/** The continuation of an execution, as JSON. Callers store it and pass it back; only the machine reads it. */
export interface State {
  v: 1;
  status: 'running' | 'waiting' | 'completed' | 'faulted' | 'cancelled';
  startedAt: string;
  input: Json;
  context: Json;
  /** Every open step. */
  open: { [key: StepKey]: 'call' | 'timer' | 'event' };
  /** Set by `interrupt`, and never unset. */
  cancelling?: boolean;
  root: ListFrame | null;
}

const json = z.custom<Json>((value) => value !== undefined);
// Stored JSON is valid JSON: checking each of a hundred thousand items would delay other executions.
const jsonArray = z.custom<Json[]>((value) => Array.isArray(value));
const fault: z.ZodType<Fault> = z.strictObject({
  type: z.string(),
  status: z.number(),
  title: z.string().optional(),
  detail: z.string().optional(),
  instance: z.string().optional(),
});
const list: z.ZodType<ListFrame> = z.strictObject({
  at: z.string(),
  key: z.string(),
  path: z.string(),
  index: z.int(),
  lap: z.int(),
  get current() {
    return frame.nullable();
  },
});
const branch = z.discriminatedUnion('is', [
  z.strictObject({
    is: z.literal('open'),
    get frame() {
      return frame;
    },
  }),
  z.strictObject({ is: z.literal('done'), value: json }),
  z.strictObject({ is: z.literal('failed'), fault }),
]);
const body: z.ZodType<Body> = z.discriminatedUnion('is', [
  z.strictObject({ is: z.literal('paused') }),
  z.strictObject({ is: z.literal('step') }),
  z.strictObject({ is: z.literal('do'), list }),
  z.strictObject({
    is: z.literal('function'),
    get frame() {
      return frame.nullable();
    },
  }),
  z.strictObject({ is: z.literal('for'), items: jsonArray, index: z.int(), list }),
  z.strictObject({ is: z.literal('fork'), branches: z.array(branch), cancelled: z.boolean().optional() }),
  z.strictObject({
    is: z.literal('try'),
    phase: z.enum(['try', 'retry', 'catch', 'cleanup']),
    attempt: z.int(),
    fault: fault.optional(),
    list: list.nullable(),
  }),
  z.strictObject({
    is: z.literal('listen'),
    listening: z.boolean(),
    matched: z.array(z.int()),
    untilMatched: z.array(z.int()),
    expected: z.record(z.string(), json),
    queue: jsonArray,
    outputs: jsonArray,
    list: list.nullable(),
  }),
]);
const frame: z.ZodType<Frame> = z.strictObject({
  task: z.string(),
  key: z.string(),
  startedAt: z.string(),
  input: json,
  taken: json.optional(),
  body: body.nullable(),
});
const state: z.ZodType<State> = z.strictObject({
  v: z.literal(1),
  status: z.enum(['running', 'waiting', 'completed', 'faulted', 'cancelled']),
  startedAt: z.string(),
  input: json,
  context: json,
  open: z.record(z.string(), z.enum(['call', 'timer', 'event'])),
  cancelling: z.boolean().optional(),
  root: list.nullable(),
});

/** Reads a stored state. Throws a `TypeError` for a value that is not a state of a version that this machine knows. */
export function parseState(value: unknown): State {
  const result = state.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new TypeError(`not a valid state of a workflow: ${issue?.path.join('.')} ${issue?.message}`);
}

/** Returns a copy whose frames can be changed. Task data is shared, because it is never changed in place. */
export function copyState(given: State): State {
  return { ...given, open: { ...given.open }, root: given.root && copyList(given.root) };
}

function copyList(given: ListFrame): ListFrame {
  return { ...given, current: given.current && copyFrame(given.current) };
}

function copyFrame(given: Frame): Frame {
  return { ...given, body: given.body && copyBody(given.body) };
}

function copyBody(given: Body): Body {
  switch (given.is) {
    case 'paused':
    case 'step':
      return { ...given };
    case 'function':
      return { ...given, frame: given.frame && copyFrame(given.frame) };
    case 'fork':
      return {
        ...given,
        branches: given.branches.map((each) => (each.is === 'open' ? { ...each, frame: copyFrame(each.frame) } : each)),
      };
    case 'do':
      return { ...given, list: copyList(given.list) };
    case 'for':
      return { ...given, list: copyList(given.list) };
    case 'try':
      return { ...given, list: given.list && copyList(given.list) };
    case 'listen':
      return {
        ...given,
        matched: [...given.matched],
        untilMatched: [...given.untilMatched],
        expected: { ...given.expected },
        queue: [...given.queue],
        outputs: [...given.outputs],
        list: given.list && copyList(given.list),
      };
  }
}

/** Returns the running tasks directly inside a task. */
export function childrenOf({ body: given }: Frame): Frame[] {
  if (!given) return [];
  switch (given.is) {
    case 'paused':
    case 'step':
      return [];
    case 'function':
      return given.frame ? [given.frame] : [];
    case 'fork':
      return given.branches.flatMap((each) => (each.is === 'open' ? [each.frame] : []));
    default:
      return given.list?.current ? [given.list.current] : [];
  }
}
