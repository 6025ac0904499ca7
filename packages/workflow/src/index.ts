export type { Workflow } from './document/definition.js';
export { describeWorkflow } from './document/describe-workflow.js';
export type { Expression, Schema } from './document/issues.js';
export { type ListedTask, listTasks } from './document/list-tasks.js';
export { compileSchemas, loadWorkflow, type ParseResult, parseWorkflow, validateInput } from './document/parse.js';
export { compilePattern, type Pattern } from './document/pattern.js';
export { durationOf } from './duration.js';
export { compileExpressions } from './expression/compile.js';
export { ExpressionError, type ExpressionErrorCode, ExpressionOutage } from './expression/error.js';
export { createExpressionPool, type ExpressionPool } from './expression/pool.js';
export { CANCELLED, type StandardFault, standardFault } from './fault.js';
export { measureTurn } from './machine/measure-turn.js';
export { parseState, type State } from './machine/state.js';
export { restoreState, storeState } from './machine/store.js';
export { begin, deliver, interrupt, resolve, type Transition } from './machine/transition.js';
export type {
  Admits,
  CallCheck,
  Caller,
  CloudEvent,
  Env,
  Evaluate,
  Fault,
  Issue,
  Json,
  JsonObject,
  LifecycleEvent,
  Outcome,
  Status,
  Step,
  StepKey,
} from './types.js';
