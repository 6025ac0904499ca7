export { advanceStep } from './advance.js';
export { backOff } from './back-off.js';
export { retryDeadlock } from './deadlock.js';
export { decideTurn } from './decide-turn.js';
export { findDueSteps } from './due.js';
export { endByForce } from './end-by-force.js';
export { communicationFault } from './faults.js';
export { isFinal } from './final.js';
export { givingBack } from './give-back.js';
export { registerFunctions } from './http.js';
export { forgetDefinition, keepWorkflow, storeDefinition, workflowOf } from './load.js';
export { lockExecution, lockedAny, lockingAny } from './lock.js';
export { claiming, freeLostStep } from './lost-claims.js';
export { storeOutcome } from './outcome.js';
export { done, parkCall, parked, settleParked, waitOn } from './park.js';
export { performStep } from './perform.js';
export type {
  Actor as EngineActor,
  CallFunction,
  ClaimedCall,
  EngineContext,
  Explained,
  Hint,
  Host,
  Lane,
  LedgerEntry,
  Locked,
  Logger,
  Performed,
  Place,
  PreparedMove,
  Progress,
  SystemCall,
  TaskEntry,
  Waker,
} from './ports.js';
export { prepareMove, prepareTurn } from './prepare-move.js';
export { claimedIn, isWhole, prepare, releases, writePrepared, writing } from './prepared.js';
export { callName, callWith } from './request.js';
export { readSnapshot } from './snapshot.js';
export { type Started, type Starting, startedSnapshot, startingExecution } from './start.js';
export { takeTurn } from './take-turn.js';
export { describeTaskEvent, keptTaskEvents, kindOf, taskEventsPerRow } from './task-events.js';
export { engineTiming } from './timing.js';
export { makingTurnDue, notingCancellation, TURN, turnHint } from './turn-row.js';
export { wakeSteps } from './wake-steps.js';
export { writeAlone } from './write-alone.js';
