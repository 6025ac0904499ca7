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

/** The fields of an actor that the engine knows; it passes the actor on to the ledger. */
export interface Actor {
  readonly kind: string;
  readonly name?: string;
}

/** A message that something is due; it contains ids and no data. When a job is lost, the sweeper finds the work later. */
export type Job =
  | { queue: 'executions'; executionId: string; key: string; dueAt?: Date }
  | { queue: 'entitlements'; entitlementId: string; provider: string; task?: 'grant' | 'revoke'; dueAt?: Date };

/** The group of places that work runs in: executions share one group, and every provider has its own. */
export type Bulkhead =
  | { queue: 'executions' }
  /** Grants may not use all places of a provider, so that its revocations never wait for them. */
  | { queue: 'entitlements'; provider: string; task?: 'grant' | 'revoke' }
  /**
   * Calls of executions that use systems, such as a grant or an HTTP call: each system has separate places for these.
   */
  | { queue: 'calls'; systems: readonly string[] };

/** A free place of a worker in this process, reserved for the caller until it runs work in it or releases it. */
export interface Place {
  /**
   * Does the work in this place and frees the place afterwards. Returns immediately; an error of the work is logged.
   */
  run(work: () => Promise<void>): void;
  /** Frees the place without work. Does nothing after `run`. */
  release(): void;
  /** Frees the place while the work continues: the rest of the work does not call the system. */
  vacate?(): void;
}

/** Sends jobs after the commit. Never throws and never waits: correctness does not depend on it. */
export interface Waker {
  wake(jobs: readonly Job[]): void;
  /**
   * Reserves a free place of a worker in this process, for what the caller is about to claim; returns null when none is free or no
   * worker runs here. In that case a worker finds the work by its due row or by a job.
   */
  reserve?(bulkhead: Bulkhead): Place | null;
  /**
   * Returns whether other work waits for a place of this bulkhead, or the worker stops: then work ends after its current turn. Without a
   * worker in this process it is absent, and work ends after each turn.
   */
  isWanted?(bulkhead: Bulkhead): boolean;
  /**
   * Moves work to another bulkhead, so that the caller can free its own place. The work starts as soon as a place is free,
   * or with `false` when none was free in time. Without a worker in this process it starts immediately.
   */
  hand?(bulkhead: Bulkhead, work: (inTime: boolean) => Promise<void>): void;
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

/** Consecutive task events of one execution, stored beside the ledger. */
export interface TaskEntry {
  actor: Actor;
  userId: string;
  executionId: string;
  /** The number of the first event among all events of the execution, from 1. */
  nth: number;
  /** At most a hundred. */
  events: TaskEvent[];
}

/** What the engine needs to read and write executions; it evaluates no expression and calls no system. */
export interface EngineStore {
  db: Database;
  waker: Waker;
  timing: EngineTiming;
  log: Logger;
  /** Returns a new UUID (version 7, so that ids that are close in time are close in the index). */
  newId(): string;
  randomBytes(size: number): Uint8Array;
  /** Resolves after a time, or rejects when the signal aborts. */
  delay(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /** The process's own clock, for measuring. The engine otherwise reads the clock of the database. */
  clock(): Date;
  /**
   * Called at named points, such as after a commit, where the crash tests kill the process. Does nothing in production.
   */
  crashpoint(name: string): void;
  program: { version: string };
  host: Host;
}

/** Everything impure that the engine may use. */
export interface EngineContext extends EngineStore {
  evaluate: Evaluate;
  /** The outbound HTTP client of `call: http`. */
  fetch(request: Request): Promise<Response>;
}

/** How entries are appended in the statement that makes the change which they record. */
export interface Appending {
  /** An expression of the statement that has a row when the entries are to be appended. */
  when?: SqlText;
  /** The condition by which a row of that expression belongs to an `entry`, where it has several rows. */
  on?: SqlText;
  /** The entitlement of an `entry`, when it is not the entry's own. */
  entitlement?: SqlText | undefined;
}

/**
 * What the engine needs from the program that runs it. An execution has an owner, an input and things that it holds;
 * the engine does not know what those are. SQL that is returned here becomes part of the engine's own statements, so
 * that both are written or neither.
 */
export interface Host {
  /** Every function that a workflow can call, by its name. */
  functions: ReadonlyMap<string, CallFunction>;
  /** Returns the common table expressions that append entries and end in `notified`, which the statement must read. */
  appending(entries: readonly (LedgerEntry | TaskEntry)[], how: Appending): SqlText;
  /** Returns an expression that reads data of the owner together with an execution: JSON as text, or null. */
  beside(execution: { id: SqlText; ownerId: SqlText; input: SqlText }): SqlText;
  /** Returns an execution's input as a call receives it now; `beside` is what was read about its owner. */
  inputNow(ctx: EngineContext, input: Json, beside: unknown): Json;
  /** Returns which listening tasks accept an event of this sender, as the sender was stored with the event. */
  admits(workflow: Workflow, sender: unknown): Admits;
  /** Ends what an execution holds, or what some of its steps acquired for it. The caller holds the execution's lock. */
  release(
    tx: Transaction,
    what: {
      executionId: string;
      stepKeys?: readonly string[];
      reason: 'failed' | 'faulted' | 'cancelled' | 'terminated';
      actor: Actor;
    },
  ): Promise<Job[]>;
  /**
   * Returns the common table expressions that withdraw the questions to people of steps that ended early: those in
   * `ending` with the status `closed`, or with `all` every step of the execution in `moved`.
   */
  withdrawing(all: boolean): SqlText;
  /** Starts a call of some systems. */
  openCall(ctx: EngineContext, systems: readonly string[]): SystemCall;
  /** Returns whether an error means that the database, or the pool for expressions, is not available now. */
  isOutage(error: unknown): boolean;
  /** Logs one line for an outage, regardless of the number of calls that meet it. */
  noteOutage(ctx: EngineStore, error: unknown): void;
  /** Returns what an error of a function means for the call. */
  explain(error: unknown): Explained;
}

/** A running call of systems. */
export interface SystemCall {
  /**
   * Aborts when the call has used its time, or when a system that has been silent since the start of the call responds
   * again.
   */
  signal: AbortSignal;
  /** Returns the result of the work, or throws when it continues although it was aborted. */
  untilStopped<T>(work: Promise<T>): Promise<T>;
  /** Returns whether the call was aborted because a system responds again; such a call is repeated immediately. */
  overtaken(): boolean;
  /**
   * Returns whether the call waited and then failed while its systems responded to other calls: its connection was lost, and the
   * systems are available.
   */
  lostAlone(): boolean;
  /** Called when the call failed. */
  failed(error: unknown): void;
  close(): void;
}

/** What an error means for a call: another attempt, or a fault for the workflow. A fault that is not `expected` is a defect of Belay. */
export type Explained =
  | {
      kind: 'again';
      after?: number | undefined;
      because: string;
      /** Whether our own database, or the pool for expressions, is not available: one line in the log is enough for all such calls. */
      isOutage?: boolean;
    }
  | { kind: 'fault'; fault: Fault; expected: boolean };

/** An execution under its row lock, for code that writes rows that belong to it. */
export interface Locked {
  id: string;
  workflow: string;
  status: ExecutionStatus;
  ownerId: string;
  input: unknown;
  version: number;
  /** Whether the execution was requested to end: its cleanup gets no access. */
  cancelled: boolean;
  now: Date;
  /** The step that the caller named, when it is open. */
  step: {
    key: string;
    kind: StepKind;
    attempt: number;
    dueAt: Date | null;
    request: unknown;
    /** When its outcome was stored: it has ended, and waits for the execution's turn. */
    outcomeAt: Date | null;
  } | null;
}

/**
 * A move that was decided outside any transaction. It is written only when the execution still has the version that it
 * was decided on.
 */
export interface PreparedMove {
  execution: { id: string; ownerId: string };
  version: number;
  status: ExecutionStatus;
  /** Absent when the execution ends in its current state (terminate). */
  state?: State;
  output?: Json | undefined;
  fault?: Fault | undefined;
  open: Step[];
  /** The steps of `open` that are opened as waiting. */
  parked: readonly Step[];
  /**
   * The step of `open` that the writer goes on with, a call or the rest of a computation: it is opened with a lease, and `id` is the id
   * of that claim.
   */
  claimed: { key: string; id: string } | null;
  /** The length of that lease, in milliseconds. */
  lease: number;
  /** The steps that have ended, and how. */
  over: { key: string; status: StepStatus }[];
  consumed: { source: string; eventId: string }[];
  /** The mark that this turn has seen, and whether another turn is due after it. */
  turn: { seen: number | null; again: boolean };
  entries: (LedgerEntry | TaskEntry)[];
  /** `now`: how many task events the move adds; `after`: how many the execution has had after it. Both count events that are not kept. */
  told: { now: number; after: number };
  actor: Actor;
  /** Jobs to send after the commit; complete when the move is written. */
  jobs: Job[];
}

/** What is written in the statement of a move, so that both are written or neither. */
export interface Joined {
  /** Common table expressions before the move. */
  before?: readonly SqlText[];
  /** Further conditions under which the move is written. */
  when?: SqlText;
  /** Expressions that depend on `moved`, which has a row when the move is written. */
  after?: readonly SqlText[];
  /** Ledger entries after those of the move. */
  entries?: readonly LedgerEntry[];
  /** The entitlement of an entry, when it is not the entry's own. */
  entitlement?: SqlText;
  /** An expression whose rows are ledger entries before those of the move. */
  told?: SqlText;
  /** What the call that the move opens waits for, when it is opened as waiting. */
  waitingFor?: string;
  /** Until when a call that only waits is parked, when the additional writes change it. */
  until?: SqlText;
  /** What the statement returns; by default the id of the execution. */
  returning?: SqlText;
}

/** A call whose lease this process holds. */
export interface ClaimedCall<Input = Json> {
  executionId: string;
  key: string;
  /** The ids of this process's claims for the call. When the database fails, the claims are released by these ids. */
  claimIds: readonly string[];
  /** The fence: a process with a higher one has taken the call over. */
  attempt: number;
  name: string;
  with: Json;
  /** The workflow that the execution runs. */
  workflow: string;
  input: Input;
  ownerId: string;
  /**
   * The move that opens the call, while it is not written: the function's own commit writes it, or the process that
   * performs the call.
   */
  pending?: PreparedMove | undefined;
}

/**
 * The result of a call: an outcome for the machine; `parked`, when the function has written down what it waits for; or
 * `again` later, with the reason in words for the person who waits.
 */
export type Performed =
  | { kind: 'outcome'; outcome: Outcome }
  | { kind: 'parked' }
  | { kind: 'again'; after: number; because: string };

/** The outcome of a parked call. */
export interface Progress {
  outcome: Outcome;
  /** Jobs to send after the commit. */
  jobs?: Job[];
}

/** A function that a workflow can call. */
export interface CallFunction {
  /** Returns what is wrong with the `with` of a call, before anything runs. */
  check?: CallCheck;
  /** Whether a call may write the move that opens it with its own commit. Such a call changes nothing outside before that commit. */
  joins?: boolean;
  /**
   * Returns the names of the systems that the call may use. The call takes a place at each system, so that a silent system delays
   * only its own calls.
   */
  asks?(call: ClaimedCall): readonly string[];
  /** For a call that only waits: the move that opens the call parks it until this time, and it is not performed before. */
  parks?: {
    until(executionId: SqlText): SqlText;
    waitingFor(until: SqlText): SqlText;
  };
  /** Performs the call, outside any transaction, under the lease. Repeats are normal: it must converge. */
  perform(ctx: EngineContext, call: ClaimedCall, signal: AbortSignal): Promise<Performed>;
  /**
   * Returns the outcome of a parked call when it can be resolved. Reads and writes rows only; the caller holds the
   * execution's lock.
   */
  progress?(ctx: EngineStore, tx: Transaction, execution: Locked, key: string): Promise<Progress | null>;
}
