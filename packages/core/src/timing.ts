import { engineTiming } from '@belay/engine';

/** All constants of time, in milliseconds, except those of the engine. */
export const timing = {
  ...engineTiming,
  /** How long one call of a connector or an HTTP endpoint may take. */
  callTimeout: 30_000,
  /** When Belay checks whether a provider responds: decision 0083. */
  silence: {
    /** After this long without a response, while a call waits for one. */
    after: 5_000,
    /** How long the check may take, and the pause before the next. */
    answer: 3_000,
    pause: 1_000,
    /** How long the checks continue after a failed call while no call waits. The next calls are due by then. */
    doubt: 30_000,
  },
  /** The longest lifetime of a token or a credential, and the longest time for a review: a year. */
  year: 366 * 24 * 60 * 60_000,
  /**
   * How long a request may take while the database keeps it waiting, and how long a call with `until` may take after its own time. The
   * caller waits for a response, not for the database (decision 0155).
   */
  response: { limit: 9_000, afterWait: 4_000 },
  /**
   * How long a call waits for silent providers. Then a new request of people for themselves is accepted, and its execution waits for
   * them; other calls use stored data or throw `unavailable`.
   */
  earlyCheck: 2_000,
  /** How long a request that names identities waits for its providers before it is rejected. They look up every identity. */
  namesCheck: 5_000,
  /** How long reading the target of a provider with a new address may take before the configuration is rejected. */
  targetCheck: 5_000,
  identity: {
    /** How long a provider's response about an approver's identity is used without another call. */
    fresh: 15 * 60_000,
    /** How long such a response is used while the provider does not respond. */
    known: 24 * 60 * 60_000,
  },
  /** How long a sealed signal, state or task token may be used. */
  signal: 60 * 60_000,
  /** How often every worker looks for due rows that no job reached. */
  sweep: 5_000,
  /** How far a sweep looks ahead, so that work starts on time: longer than the longest pause between two sweeps. */
  lookAhead: 10_000,
  /**
   * How long a call of an execution waits for a place at a busy system before it is postponed; together with the call
   * no longer than a lease.
   */
  callPatience: 10_000,
  /** R5: a revoke settles only when it started this long after the last grant call was claimed. */
  quarantine: 15 * 60_000,
  /** The pause before the next check of a provider with a running operation, unless it requests a longer one. */
  pending: 5_000,
  /**
   * How soon after its claim a call is made again, when its entitlement was changed during it: repeats cost calls at the provider, and
   * people can cause them.
   */
  repeat: 1_000,
  /** How often the mark of a target is renewed while access is held there, by which an earlier state of it is known (R7). */
  mark: 60_000,
  /** How long a provider must hold nothing before the connection for its revocations is closed. */
  standDown: 60_000,
  /** `overdue`: the longest pause while access exists that should be gone. */
  revokeBackoff: { first: 5_000, overdue: 15_000, last: 5 * 60_000 },
  /** How often each provider is compared with its rows. */
  drift: 60 * 60_000,
  /**
   * How much longer than its duration a grant may wait for its provider before it is given up; the duration starts when
   * it is active.
   */
  activation: 60 * 60_000,
  /**
   * The pauses before a message that could not be delivered is attempted again; it is given up when its approval closes, or after
   * `patience`. `revision`: how long after the approval has closed Belay tries to revise a delivered message.
   */
  messages: { first: 5_000, last: 5 * 60_000, patience: 24 * 60 * 60_000, revision: 24 * 60 * 60_000 },
  /** How long the reply to a provider's hook waits for the decision in it; providers wait for three seconds. */
  hookReply: 2_500,
  /**
   * How long runs, messages and notices are kept after they and their request have ended, and how many rows of each are deleted at
   * once. Longer than everything that reads them: the revision of messages, the count of undelivered ones.
   */
  settled: { after: 7 * 24 * 60 * 60_000, slice: 500 },
  /** How often a notification is attempted before the task faults. */
  notificationAttempts: 5,
  approval: 24 * 60 * 60_000,
  /** How long after its decision an approval may be used to grant access; then it must be requested again. */
  approvalLifetime: 60 * 60_000,
  maximumDuration: 24 * 60 * 60_000,
  defaultDuration: 60 * 60_000,
  /** How long an unused login lasts. */
  login: 12 * 60 * 60_000,
  /** When a login ends regardless of its use; operators may shorten it (`server.login`). */
  loginEnd: { browser: 12 * 60 * 60_000, device: 7 * 24 * 60 * 60_000 },
  groups: {
    /** How old the provider's data of a person may be, where it can be refreshed. */
    fresh: 15 * 60_000,
    /** From this age on the data is refreshed in parallel with the person's requests, so that no request must wait for it. */
    ahead: 10 * 60_000,
    /** How long a request waits for the refresh. */
    wait: 2_000,
    /** The pause before a failed refresh is tried again. */
    retry: 15_000,
  },
  loginFlow: 10 * 60_000,
  loginCode: 60_000,
  session: {
    /** How long before its end a session is refreshed; half its life when that is shorter. */
    ahead: 15 * 60_000,
    /** The pause after a failed refresh. */
    retry: 60_000,
    /** How long after its end a session that can be refreshed is kept: longer than the sweeper's pause. */
    grace: 15 * 60_000,
  },
  idempotency: 24 * 60 * 60_000,
  run: {
    /** How long the heartbeat of a run may be missing. A run may request another time, between `shortest` and `longest`. */
    lease: 60_000,
    shortest: 30_000,
    longest: 15 * 60_000,
    /** How often a server records that it can be reached, while there are runs. */
    note: 5_000,
    /** A longer time between two of these records was an outage. A lease loses only this much of an outage. */
    outage: 12_000,
    /**
     * A run that names no duration joins existing access only when this much time is left, or half of the access's duration where that is
     * less.
     */
    remaining: 5 * 60_000,
    /** How long after access was given back it is checked that the execution has ended and holds nothing. */
    settle: 30_000,
  },
  /** A revocation this late is an alarm: a metric, a notice to the operators, and a degraded /health. */
  overdue: 60_000,
  /** How old the catalog of a process may be when another process applied a newer one. */
  catalogRefresh: 2_000,
  /**
   * The longest pause before a watched execution is read without a notification, so that lost notifications are
   * noticed.
   */
  watchPoll: 5_000,
  /**
   * How long an execution counts as watched after a process marked it; the process renews the mark after half of that.
   */
  watchMark: 60_000,
  /** How often the login behind an open event stream is checked again. */
  streamCheck: 10_000,
} as const;

type Widen<T> = { readonly [K in keyof T]: T[K] extends number ? number : Widen<T[K]> };
/** The type of these constants, so that tests and the demo can pass others. */
export type Timing = Widen<typeof timing>;
