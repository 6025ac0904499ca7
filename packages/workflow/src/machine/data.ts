import { checkSchema } from '../document/check-schema.js';
import type { OutputDefinition, SchemaDefinition, Task } from '../document/definition.js';
import { durationOf } from '../duration.js';
import { ExpressionError } from '../expression/error.js';
import { evaluateTransform, evaluateValue, type Sight } from '../expression/evaluate.js';
import { Raised, standardFault } from '../fault.js';
import type { Json, JsonObject } from '../types.js';
import { type Run, taskAt, type Variables } from './run.js';
import type { Frame } from './state.js';

const JQ_FUEL = 10;
/** Milliseconds of processor time for all expressions of one task: a transition cannot pause inside a task. */
const TASK_LIMIT = 10_000;

/**
 * Returns what a task's own expressions see. `more.input` is `.`, by default the task's input as transformed so far;
 * `$input` is that transformed input, and is not defined when `more.before` is set.
 */
export function taskSight(
  run: Run,
  frame: Frame,
  variables: Variables,
  more: { input?: Json; rawOutput?: Json; output?: Json; before?: boolean } = {},
): Sight {
  const taken = frame.taken === undefined ? frame.input : frame.taken;
  const args: { [name: string]: Json } = {
    ...variables,
    context: run.state.context,
    task: describeTask(run, frame, more.rawOutput),
    workflow: describeWorkflow(run),
    runtime: describeRuntime(run),
  };
  if (!more.before) args.input = taken;
  if (more.output !== undefined) args.output = more.output;
  return { input: more.input === undefined ? taken : more.input, args, evaluate: meteredEvaluate(run) };
}

/** Returns what the workflow's own `input.from` sees and, with `$context`, what its `timeout` and `output.as` see. */
export function workflowSight(run: Run, input: Json, withContext: boolean): Sight {
  const args: { [name: string]: Json } = { workflow: describeWorkflow(run), runtime: describeRuntime(run) };
  if (withContext) args.context = run.state.context;
  return { input, args, evaluate: meteredEvaluate(run) };
}

/** Returns an evaluator that takes fuel for each expression that needs jq, and limits the processor time of a task. */
function meteredEvaluate(run: Run): Sight['evaluate'] {
  return async (expression, input, args) => {
    run.fuel -= JQ_FUEL;
    if (run.spent > TASK_LIMIT) {
      throw new ExpressionError('ERR_EXPRESSION_TIMEOUT', 'the expressions of this task together took too long');
    }
    const spend = (milliseconds: number) => {
      run.spent += milliseconds;
      run.env.spend?.(milliseconds);
    };
    return run.env.evaluate(expression, input, args, { executionId: run.env.executionId, spend });
  };
}

/** Validates data by a schema of the definition. Throws `Raised` with the DSL's validation fault. */
export async function validate(
  run: Run,
  schema: SchemaDefinition | undefined,
  value: Json,
  what: string,
): Promise<void> {
  if (schema?.document === undefined) return;
  const { executionId, spend } = run.env;
  const [difference] = await checkSchema(schema.document, value, { executionId, spend });
  if (!difference) return;
  const [pointer, message] = difference;
  const detail = `${what}: ${pointer || 'the value'} ${message}`;
  throw new Raised(standardFault('validation', { detail }));
}

/** Transforms data by `as`, then validates it: steps 5 and 6 of the DSL's data flow. */
export async function transform(
  run: Run,
  output: OutputDefinition | undefined,
  sight: Sight,
  what: string,
): Promise<Json> {
  const value = output?.as === undefined ? sight.input : await evaluateTransform(output.as, sight);
  await validate(run, output?.schema, value, what);
  return value;
}

/** Sets the context by a task's (or an iteration's) `export`, when it is valid: steps 7 and 8 of the data flow. */
export async function exportContext(run: Run, definition: OutputDefinition | undefined, sight: Sight): Promise<void> {
  if (!definition) return;
  const context = definition.as === undefined ? run.state.context : await evaluateTransform(definition.as, sight);
  await validate(run, definition.schema, context, 'context');
  run.state.context = context;
}

/**
 * Returns a duration of the definition in milliseconds. Throws `Raised` when an expression did not return a duration.
 */
export async function evaluateDuration(value: Json, sight: Sight): Promise<number> {
  const evaluated = await evaluateValue(value, sight);
  try {
    return durationOf(evaluated);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new Raised(standardFault('expression', { detail: error.message }));
  }
}

/** Returns the duration of a timeout, inline or by name, in milliseconds. */
export async function evaluateTimeout(run: Run, timeout: Json, sight: Sight): Promise<number> {
  const found = typeof timeout === 'string' ? run.workflow.use?.timeouts?.[timeout] : timeout;
  return await evaluateDuration((found as { after: Json }).after, sight);
}

function describeTask(run: Run, frame: Frame, output: Json | undefined): JsonObject {
  const definition = taskAt(run, frame.task) as Task & JsonObject;
  const name = frame.task
    .slice(frame.task.lastIndexOf('/') + 1)
    .replaceAll('~1', '/')
    .replaceAll('~0', '~');
  const described: JsonObject = {
    name,
    reference: frame.task,
    definition,
    input: frame.input,
    startedAt: describeTime(frame.startedAt),
  };
  if (output !== undefined) described.output = output;
  return described;
}

function describeWorkflow(run: Run): JsonObject {
  return {
    id: run.env.executionId,
    definition: run.workflow as unknown as JsonObject,
    input: run.state.input,
    startedAt: describeTime(run.state.startedAt),
  };
}

function describeRuntime(run: Run): JsonObject {
  return { name: 'belay', version: '0', ...run.env.runtime, metadata: {} };
}

function describeTime(iso8601: string): JsonObject {
  const milliseconds = Date.parse(iso8601);
  return { iso8601, epoch: { seconds: Math.floor(milliseconds / 1000), milliseconds } };
}
