/** Any JSON value. All data that the machine stores, requests or returns is JSON. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export type JsonObject = { [key: string]: Json };

/**
 * The name of a step: the place of its task, then how the task was reached, as in `/do/2/approve#0`
 * (`machine/keys.ts`). Unique within one execution, and the same each time the transition is computed.
 */
export type StepKey = string;

/** Something an execution waits for. `dueAt` is ISO 8601, UTC, milliseconds, ending in `Z`; timers always have one. */
export interface Step {
  key: StepKey;
  kind: 'call' | 'timer' | 'event';
  request: Json;
  dueAt?: string;
}

/**
 * An error as defined by the DSL and RFC 7807; `instance` is by default the JSON pointer of the task that raised it.
 */
export interface Fault {
  type: string;
  status: number;
  title?: string;
  detail?: string;
  instance?: string;
}

/** How a step ended. The outcome of a fired timer is `{ ok: true, value: null }`. */
export type Outcome = { ok: true; value: Json } | { ok: false; fault: Fault };

/** `running`: some open step is a call. `waiting`: every open step is a timer or an event. The rest are final. */
export type Status = 'running' | 'waiting' | 'completed' | 'faulted' | 'cancelled';

/** A CloudEvent 1.0. */
export interface CloudEvent {
  specversion: '1.0';
  id: string;
  source: string;
  type: string;
  time?: string;
  subject?: string;
  datacontenttype?: string;
  data?: Json;
  [extension: string]: Json | undefined;
}

/** Returns whether a `listen` with this metadata may take an event, apart from its filters on the event itself. */
export type Admits = (metadata: JsonObject | undefined) => boolean;

/**
 * One of the DSL's lifecycle events: `type` is the DSL's name, `at` is `env.now`, `data` has no input and no output.
 */
export interface LifecycleEvent {
  type: string;
  at: string;
  data: JsonObject;
}

/** The owner of an evaluation: executions take turns. `spend` is called with the processor time of the jq thread. */
export interface Caller {
  executionId: string;
  spend?: ((milliseconds: number) => void) | undefined;
}

/**
 * Evaluates one jq program on `input` with the named arguments (without `$`). Calls `caller.spend` when a thread has
 * run the program. Throws `ExpressionError` for an error of the program, and `ExpressionOutage` when it cannot be run
 * now.
 */
export type Evaluate = (
  expression: string,
  input: Json,
  args: { [name: string]: Json },
  caller?: Caller,
) => Promise<Json>;

/** Everything that a transition uses besides its arguments: the time, ids and functions of the host. Times are ISO 8601, UTC. */
export interface Env {
  now: string;
  executionId: string;
  startedAt?: string;
  evaluate: Evaluate;
  /**
   * Called before each task of a transition, except the first when no jq program ran before it. True ends the
   * transition there: its state has a timer that is due now, and continues at that task when the timer is resolved.
   * Also called while large data is checked; then the result does not matter. The machine awaits the result, so that a
   * host can yield to the event loop.
   */
  pause?: () => boolean | Promise<boolean>;
  /**
   * Called with the milliseconds of processor time that each evaluation and each check by a schema used in a thread.
   */
  spend?: (milliseconds: number) => void;
  runtime?: { name: string; version: string };
}

/**
 * An error in a document or a value. `path` is a JSON pointer; `ERR_UNSUPPORTED_*` is a part of the DSL that is not
 * supported yet.
 */
export interface Issue {
  code: string;
  path: string;
  message: string;
}

/** The static check of a function's `with`, which may contain `${ }` expressions. Paths are relative to `with`. */
export type CallCheck = (withValue: Json) => Issue[];
