import type {
  Database,
  ExecutionStatus,
  LedgerLevel,
  SqlText,
  StepKind,
  StepStatus,
  TaskEvent,
  Transaction,
} from '@belay/db';
import type { Admits, CallCheck, Evaluate, Fault, Json, Outcome, State, Step, Workflow } from '@belay/workflow';
import type { EngineTiming } from './timing.js';

/** Who acts, as far as the engine has to know: it hands them on to the ledger. */
export interface Actor {
  readonly kind: string;
  readonly name?: string;
}

/** "Look now": an id, never data. Losing one costs the sweeper's latency and nothing else. */
export type Hint =
  | { queue: 'executions'; executionId: string; key: string; dueAt?: Date }
  | { queue: 'entitlements'; entitlementId: string; provider: string; task?: 'grant' | 'revoke'; dueAt?: Date };

/** Where a worker does something: executions share their places, and every provider has its own. */
export type Lane =
  | { queue: 'executions' }
  /** Grants may not take all places of a provider, so that its revocations never wait for them. */
  | { queue: 'entitlements'; provider: string; task?: 'grant' | 'revoke' }
  /** What executions ask of systems, such as a plan of its providers: each system has places of its own for that, too. */
  | { queue: 'calls'; systems: readonly string[] };

/** A free place of a worker in this process, taken for the caller until it runs something there or releases it. */
export interface Place {
  /** Does the work in this place and frees the place afterwards. Returns at once; an error of the work is logged. */
  run(work: () => Promise<void>): void;
  /** Frees the place without work. Does nothing after `run`. */
  release(): void;
  /** Gives the place to others while the work goes on: what is left of it asks nothing of the system. */
  vacate?(): void;
}

/** Sends hints after commit. Never throws and never waits: correctness does not depend on it. */
export interface Waker {
  wake(hints: readonly Hint[]): void;
  /**
   * Takes a free place of a worker in this process, for what the caller is about to claim; null when there is none, or
   * no worker here: then the due row and a hint lead a worker to it.
   */
  reserve?(lane: Lane): Place | null;
  /**
   * Hands work on to another lane, so that the caller can give up its own place. It begins as soon as there is a place, or
   * with `false` when there was none in time. Without a worker in this process it begins at once.
   */
  hand?(lane: Lane, work: (inTime: boolean) => Promise<void>): void;
}

export interface Logger {
  debug(detail: object, message: string): void;
  info(detail: object, message: string): void;
  warn(detail: object, message: string): void;
  error(detail: object, message: string): void;
}

/** One entry of the append-only record. */
export interface LedgerEntry {
  type: string;
  message: string;
  actor: Actor;
  level?: LedgerLevel;
  userId?: string | null;
  provider?: string | null;
  executionId?: string | null;
  entitlementId?: string | null;
  data?: Record<string, unknown> | null;
}

/** Task events of one execution that follow each other, which are kept beside the ledger. */
export interface TaskEntry {
  actor: Actor;
  userId: string;
  executionId: string;
  /** The number of the first among all of the execution's, from 1. */
  nth: number;
  /** A hundred at most. */
  events: TaskEvent[];
}

/** Everything impure that the engine may use. */
export interface EngineContext {
  db: Database;
  waker: Waker;
  evaluate: Evaluate;
  timing: EngineTiming;
  log: Logger;
  /** A new UUID (version 7, so that neighbours in time are neighbours in the index). */
  newId(): string;
  randomBytes(size: number): Uint8Array;
  /** Resolves after a time, or rejects when the signal aborts. */
  delay(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /** The process's own clock. The engine reads the database's; this is for measuring. */
  clock(): Date;
  /** The outbound HTTP client of `call: http`. */
  fetch(request: Request): Promise<Response>;
  /** Named points after each commit, where the crash tests kill the process. Does nothing in production. */
  crashpoint(name: string): void;
  program: { version: string };
  host: Host;
}

/**
 * What the engine asks of the program that runs it. An execution has an owner, an input and things that it holds; what those
 * are, the engine does not know. SQL that is returned here becomes part of the engine's own statements, so that both are
 * written or neither.
 */
export interface Host {
  /** Every function that a workflow can call, by its name. */
  functions: ReadonlyMap<string, CallFunction>;
  /**
   * Returns the common table expressions that append entries where `when` has a row, and end in `notified`, which the statement
   * has to read. `entitlement`: of the row that `entry` is, when it is not the entry's own.
   */
  appending(entries: readonly (LedgerEntry | TaskEntry)[], when?: SqlText, entitlement?: SqlText): SqlText;
  /** Returns an expression for what is read of an execution's owner beside it: a text of JSON, or null. */
  beside(execution: { id: SqlText; ownerId: SqlText; input: SqlText }): SqlText;
  /** Returns an execution's input as a call gets it now, by what was read beside it. */
  inputNow(ctx: EngineContext, input: Json, beside: unknown): Json;
  /** Returns which tasks that listen take an event of this sender, as it was stored with the event. */
  admits(workflow: Workflow, sender: unknown): Admits;
  /** Ends what an execution holds, or what some of its steps got for it. The execution's lock is held. */
  release(
    tx: Transaction,
    what: {
      executionId: string;
      stepKeys?: readonly string[];
      reason: 'failed' | 'faulted' | 'cancelled' | 'terminated';
      actor: Actor;
    },
  ): Promise<Hint[]>;
  /**
   * Returns the common table expressions that withdraw what steps which ended early had asked of people: those in `ending`
   * with the status `closed`, or with `all` every step of the execution in `moved`.
   */
  withdrawing(all: boolean): SqlText;
  /** Begins a call of some systems. */
  openCall(ctx: EngineContext, systems: readonly string[]): SystemCall;
  /** Returns whether an error says that the database, or what evaluates expressions, cannot serve now. */
  isOutage(error: unknown): boolean;
  /** Returns what an error of a function comes to. */
  explain(error: unknown): Explained;
}

/** A call of systems that is under way. */
export interface SystemCall {
  /** Says stop when the call has taken its time, or a system that was silent since it began answers again. */
  signal: AbortSignal;
  /** Returns what the work returns, or throws when it goes on although it was told to stop. */
  untilStopped<T>(work: Promise<T>): Promise<T>;
  /** Whether it was stopped because a system answers again: it is to be repeated at once. */
  overtaken(): boolean;
  /** The call came to nothing. */
  failed(error: unknown): void;
  close(): void;
}

/** An error is waited out, or it is the workflow's business as a fault; one that is not `expected` is a defect of ours. */
export type Explained =
  | { kind: 'again'; after?: number | undefined; because: string }
  | { kind: 'fault'; fault: Fault; expected: boolean };

/** An execution under its row lock, for whoever writes rows that hang on it. */
export interface Locked {
  id: string;
  workflow: string;
  status: ExecutionStatus;
  ownerId: string;
  input: unknown;
  version: number;
  /** Whether it was asked to end: what cleans up after it gets no access. */
  cancelled: boolean;
  now: Date;
  /** The step the caller asked about, when it is open. */
  step: {
    key: string;
    kind: StepKind;
    attempt: number;
    dueAt: Date | null;
    request: unknown;
    /** When its outcome was stored: it is over, and waits for the execution's turn. */
    outcomeAt: Date | null;
  } | null;
}

/** A move that was decided outside any transaction, and is written where the execution still has the version it was decided on. */
export interface PreparedMove {
  execution: { id: string; ownerId: string };
  version: number;
  status: ExecutionStatus;
  /** Absent when the execution ends as it stands (terminate). */
  state?: State;
  output?: Json | undefined;
  fault?: Fault | undefined;
  open: Step[];
  /** Those among them that are opened waiting. */
  parked: readonly Step[];
  /** The call among them that whoever writes performs: it is opened with a lease, under an id that is chosen here. */
  claimed: { key: string; id: string } | null;
  /** How long that lease is, in milliseconds. */
  lease: number;
  /** The steps that are over, with how they ended. */
  over: { key: string; status: StepStatus }[];
  consumed: { source: string; eventId: string }[];
  /** The mark that this turn has seen, and whether another turn is due after it. */
  turn: { seen: number | null; again: boolean };
  entries: (LedgerEntry | TaskEntry)[];
  /** How many task events it has, kept or not, and how many the execution has then. */
  told: { now: number; after: number };
  actor: Actor;
  /** To be sent after commit; complete when the move is written. */
  hints: Hint[];
}

/** A call that this process holds the lease of. */
export interface ClaimedCall<Input = Json> {
  executionId: string;
  key: string;
  /** The ids of what this process has claimed for it, by which that is given back when the database goes away. */
  claimIds: readonly string[];
  /** The fence: whoever has a higher one has taken the call over. */
  attempt: number;
  name: string;
  with: Json;
  /** The workflow that the execution runs. */
  workflow: string;
  input: Input;
  ownerId: string;
  /** The move that opens the call, while it is not written: the function's own commit does, or whoever performs it. */
  pending?: PreparedMove | undefined;
}

/**
 * How a call came out: an outcome for the machine; `parked`, when the function has written down what it waits for; or
 * `again` later, with what is the matter now in words for the person who waits.
 */
export type Performed =
  | { kind: 'outcome'; outcome: Outcome }
  | { kind: 'parked' }
  | { kind: 'again'; after: number; because: string };

/** What a parked call has come to. */
export interface Progress {
  outcome: Outcome;
  /** To be sent after commit. */
  hints?: Hint[];
}

/** A function that a workflow can call. */
export interface CallFunction {
  /** Returns what is wrong with the `with` of a call, before anything runs. */
  check?: CallCheck;
  /** Whether a call may write the move that opens it with its own commit, by what was read beside the execution. It changes nothing outside before that. */
  joins?(beside: unknown): boolean;
  /** The systems that it may ask, by name: it takes a place at each of them, so that one that is silent holds up its own only. */
  asks?(call: ClaimedCall): readonly string[];
  /** Given, when a call only waits: the move that comes to it opens it parked until then, and nobody performs it before. */
  parks?: {
    until(executionId: SqlText): SqlText;
    waitingFor(until: SqlText): SqlText;
  };
  /** Does it, outside any transaction, under the lease. Repeats are normal: it must converge. */
  perform(ctx: EngineContext, call: ClaimedCall, signal: AbortSignal): Promise<Performed>;
  /** For a parked call: whether it can be resolved by now. Touches rows only; the execution's lock is held. */
  progress?(ctx: EngineContext, tx: Transaction, execution: Locked, key: string): Promise<Progress | null>;
}
