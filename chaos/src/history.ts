/** What a run saw from outside: what was requested and answered over HTTP, and what the target held. Times are milliseconds since 1970. */
export interface History {
  startedAt: number;
  endedAt: number;
  /** The offset of the database's clock, from each of these times on. It begins with none. */
  clock: { at: number; offset: number }[];
  faults: FaultWindow[];
  requests: AccessRequest[];
  attempts: Attempt[];
  /** Intervals in which a sample of the target showed the holding, by holding. */
  held: Record<string, Interval[]>;
  /** Intervals in which the target was not sampled. */
  blind: Interval[];
  /** Processes of Belay that ended without being killed by the run. */
  deaths: { process: string; at: number; how: string }[];
  /** Calls that had no answer within a client's patience. */
  unanswered: { operation: string; at: number }[];
  /** The executions that Belay's log names as requested, by person. */
  written: Record<string, string[]>;
}

export interface Interval {
  from: number;
  to: number;
}

/**
 * What may suffer from a fault: everything; what is held at one target; only how fast the queue is; or nothing at all,
 * which is what is said of workflows that are a burden.
 */
export type Scope = 'everything' | { target: string } | 'queue' | 'nothing';

export interface FaultWindow {
  name: string;
  scope: Scope;
  from: number;
  /** When the fault was over; for a killed process, when it was killed. */
  healed: number;
  /** A process is gone or stopped that may have leased work. */
  lease: boolean;
  /** Belay's database cannot be used as usual, so that requests wait for it. */
  database: boolean;
  /** When the next request was answered, by server, and when the next grant was seen, by target. */
  recovered: Record<string, number | null>;
}

export interface AccessRequest {
  /** The idempotency key. */
  key: string;
  person: string;
  /** What the person should hold: `<person> <target>/<role>`. */
  holdings: string[];
  duration: number;
  sentAt: number;
  acknowledgedAt: number | null;
  /** Every execution that an answer to this key named. */
  ids: string[];
  /** From when on it may be held: when it was sent, or when its approval or its signal was. Null: never. */
  mayHoldFrom: number | null;
  /** The first answer that said that all of it is active. */
  activeAt: number | null;
  /** The end that was answered, in the database's time. */
  expiresAt: number | null;
  /** When its return or its cancellation was first sent. */
  endSentAt: number | null;
  /** When that was acknowledged. */
  endedAt: number | null;
  /** The first answer that said that nothing is held any more. */
  goneAt: number | null;
  /** What the last answer said. */
  final: { state: string; status: string; detail: string } | null;
  /** The statuses that the execution may end with. */
  expected: readonly string[];
  /** Its workflow races timers, and grants only where the shorter one of each two has won. */
  races: boolean;
}

export interface Attempt {
  server: string;
  operation: string;
  at: number;
  took: number;
  /** An HTTP status; `network` for a lost or rejected connection; `timeout` when the client gave up. */
  outcome: number | 'network' | 'timeout';
  /** The answer is one that this operation allows for. */
  expected: boolean;
}
