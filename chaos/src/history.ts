/** A run as seen from outside: requests and answers over HTTP, and what the targets held. Times are milliseconds since 1970. */
export interface History {
  startedAt: number;
  endedAt: number;
  /** The offset of the database's clock, in milliseconds, from each of these times on. Before the first it is 0. */
  clock: { at: number; offset: number }[];
  faults: FaultWindow[];
  requests: AccessRequest[];
  attempts: Attempt[];
  /** The intervals in which samples of the targets showed a holding, by holding. */
  held: Record<string, Interval[]>;
  /** Intervals in which the targets were not sampled. */
  blind: Interval[];
  /** Processes of Belay that ended without being killed by the run. */
  deaths: { process: string; at: number; how: string }[];
  /** Calls that got no answer within a client's patience. */
  unanswered: { operation: string; at: number }[];
  /** The executions that each person requested, according to Belay's log. */
  written: Record<string, string[]>;
}

export interface Interval {
  from: number;
  to: number;
}

/**
 * What a fault may affect: everything; access at one target; only the speed of the queue; or nothing, which is the
 * rule for workflows that compute for a long time.
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
  /**
   * The milliseconds from the healing to the next answered request, by server, and to the next grant, by target. Null when there was none
   * in time.
   */
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
  /** The ids of the executions that the responses to requests with this key contained. */
  ids: string[];
  /** From when on it may be held: the time at which the request, its approval or its signal was sent. Null: never. */
  mayHoldFrom: number | null;
  /** When an answer first said that all of the access is active. */
  activeAt: number | null;
  /** The end of the access according to the last answer, by the database's clock. */
  expiresAt: number | null;
  /** When its return or its cancellation was first sent. */
  endSentAt: number | null;
  /** When its return or its cancellation was acknowledged. */
  endedAt: number | null;
  /** When an answer first said that nothing is held any more. */
  goneAt: number | null;
  /** The execution according to the last answer. */
  final: { state: string; status: string; detail: string } | null;
  /** The statuses that the execution may end with. */
  expected: readonly string[];
  /** Its workflow races timers, and grants only when the shorter one of each two has won. */
  races: boolean;
}

export interface Attempt {
  server: string;
  operation: string;
  at: number;
  took: number;
  /** An HTTP status; `network` for a lost or rejected connection; `timeout` when the client gave up. */
  outcome: number | 'network' | 'timeout';
  /** Whether the operation allows for this answer. */
  expected: boolean;
}
