export type { Workflow } from './document/definition.js';
export { describeWorkflow } from './document/describe-workflow.js';
export type { Expression, Schema } from './document/issues.js';
export { listTasks } from './document/list-tasks.js';
export { compileSchemas, loadWorkflow, parseWorkflow, validateInput } from './document/parse.js';
export { compilePattern, type Pattern } from './document/pattern.js';
export { durationOf } from './duration.js';
export { compileExpressions } from './expression/compile.js';
export { ExpressionError, ExpressionOutage } from './expression/error.js';
export { createExpressionPool, type ExpressionPool } from './expression/pool.js';
export { CANCELLED, standardFault } from './fault.js';
export { measureTurn } from './machine/measure-turn.js';
export { parseState, type State } from './machine/state.js';
export { restoreState, storeState } from './machine/store.js';
export { begin, deliver, interrupt, resolve, type Transition } from './machine/transition.js';
export type {
  Admits,
  CallCheck,
  CloudEvent,
  Env,
  Evaluate,
  Fault,
  Issue,
  Json,
  JsonObject,
  LifecycleEvent,
  Outcome,
  Step,
} from './types.js';
