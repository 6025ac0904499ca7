export { registerFunctions } from './calls/http.js';
export { performStep } from './calls/perform.js';
export { retryDeadlock } from './deadlock.js';
export { communicationFault } from './faults.js';
export { isFinal } from './final.js';
export type {
  Actor as EngineActor,
  Appending,
  Bulkhead,
  CallFunction,
  ClaimedCall,
  EngineContext,
  Explained,
  Host,
  Job,
  LedgerEntry,
  Locked,
  Logger,
  Performed,
  Place,
  PreparedMove,
  Progress,
  TaskEntry,
  Waker,
} from './ports.js';
export { callName, callWith } from './request.js';
export { advanceStep } from './steps/advance.js';
export { findDueSteps, selectDueSteps } from './steps/claim.js';
export { deleteExecutions } from './steps/delete-executions.js';
export { endByForce } from './steps/end-by-force.js';
export { givingBack } from './steps/give-back.js';
export { forgetDefinition, keepWorkflow, storeDefinition, workflowOf } from './steps/load.js';
export { lockExecution, lockedAny, lockingAny } from './steps/lock.js';
export { claiming, freeLostStep } from './steps/lost-claims.js';
export { type StepOutcome, storeOutcome, storingOutcome } from './steps/outcome.js';
export { done, parkCall, parked, parkingWith, settleParked, waitingOn, waitOn } from './steps/park.js';
export { readSnapshot } from './steps/snapshot.js';
export { type Started, type Starting, startedSnapshot, startingExecutions } from './steps/start.js';
export { makingTurnDue, notingCancellation, TURN, turnJob } from './steps/turn-row.js';
export { wakeSteps } from './steps/wake-steps.js';
export { engineTiming } from './timing.js';
export { linkExecution, traced } from './traced.js';
export { decideFirstTurn } from './turns/decide-first-turn.js';
export { decideTurn, type Serve } from './turns/decide-turn.js';
export { prepareMove, prepareTurn } from './turns/prepare-move.js';
export { claimedIn, isWhole, prepare, releases, writePrepared, writing } from './turns/prepared.js';
export { takeTurn } from './turns/take-turn.js';
export { describeTaskEvent, keptTaskEvents, kindOf, taskEventsPerRow } from './turns/task-events.js';
export { writeAlone } from './turns/write-alone.js';
