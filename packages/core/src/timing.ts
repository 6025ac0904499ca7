import { engineTiming } from '@belay/engine';

/** Every constant of time, in milliseconds; nowhere else but in the engine, for its own. */
export const timing = {
  ...engineTiming,
  /** How long one call of a connector or an HTTP endpoint may take. */
  callTimeout: 30_000,
  /** When a provider is asked whether it answers at all: decision 0083. */
  silence: {
    /** After so long without an answer, while a call waits for one. */
    after: 5_000,
    /** How long it has for its answer, and the pause before it is asked again. */
    answer: 3_000,
    pause: 1_000,
    /** How long it is asked after a call failed, when none waits: until the next calls are due at the latest. */
    doubt: 30_000,
  },
  /** How long a request is held up to ask its providers, before it is accepted and waits for them. */
  earlyCheck: 2_000,
  /** How long a provider whose address changes is asked for its target before the configuration is refused. */
  targetCheck: 5_000,
  identity: {
    /** How long what a provider said about an approver's identity there is taken without asking again. */
    fresh: 15 * 60_000,
    /** How long it counts while the provider does not answer. */
    known: 24 * 60 * 60_000,
  },
  /** How long a sealed signal or state may be used. */
  signal: 60 * 60_000,
  /** How often every worker looks for due rows that no hint reached. */
  sweep: 5_000,
  /** How far a sweep looks ahead, to be there on time: longer than the longest pause between two sweeps. */
  lookAhead: 10_000,
  /** How long a call of an execution waits for a place at a busy system before it is put off; with the call, shorter than a lease. */
  callPatience: 10_000,
  /** R5: a revoke settles only when it started this long after the last grant call was claimed. */
  quarantine: 15 * 60_000,
  /** How soon a provider that works on an operation is asked again, unless it says when. */
  pending: 5_000,
  /** How long nothing was held at a provider before the way that was kept open for its revocation is closed. */
  standDown: 60_000,
  /** `overdue`: the longest pause while access is there that should be gone. */
  revokeBackoff: { first: 5_000, overdue: 15_000, last: 5 * 60_000 },
  /** How long a grant may wait for its provider before it is given up; its own clock starts when it is active. */
  activation: 60 * 60_000,
  /** How often a notification is tried before the task faults. */
  notificationAttempts: 5,
  approval: 24 * 60 * 60_000,
  /** How long an approval may wait to be granted before it is asked again. */
  approvalLifetime: 60 * 60_000,
  maximumDuration: 24 * 60 * 60_000,
  defaultDuration: 60 * 60_000,
  /** How long a login lasts that is not used. */
  login: 12 * 60 * 60_000,
  /** When a login ends however much it is used; operators may shorten it (`server.login`). */
  loginEnd: { browser: 12 * 60 * 60_000, device: 7 * 24 * 60 * 60_000 },
  groups: {
    /** How old what a provider says of a person may be, where it can be asked. */
    fresh: 15 * 60_000,
    /** From this age on it is read again beside the requests of the person, so that none has to wait for it. */
    ahead: 10 * 60_000,
    /** How long a request waits for it. */
    wait: 2_000,
    /** How long after an attempt that failed the next is made. */
    retry: 15_000,
  },
  loginFlow: 10 * 60_000,
  loginCode: 60_000,
  session: {
    /** How long before its end a session is refreshed; half its life when that is shorter. */
    ahead: 15 * 60_000,
    /** How long after a failed refresh the next is tried. */
    retry: 60_000,
    /** How long after its end a session that can be refreshed still may be: longer than the sweeper's pause. */
    grace: 15 * 60_000,
  },
  idempotency: 24 * 60 * 60_000,
  /** A revocation this late is an alarm: a metric, an error in the ledger, and /health says so. */
  overdue: 60_000,
  /** How old the catalog that a process acts on may be when another process applied a newer one. */
  catalogRefresh: 2_000,
  /** How often a watched execution is looked at when no notification comes; those that were lost are noticed then. */
  watchPoll: 5_000,
  /** How long an execution counts as watched after a process said so; it says so again after half of that. */
  watchMark: 60_000,
  /** How often the login behind an open event stream is checked again. */
  streamCheck: 10_000,
} as const;

type Widen<T> = { readonly [K in keyof T]: T[K] extends number ? number : Widen<T[K]> };
/** The same constants as a type, so that tests and the demo can pass others. */
export type Timing = Widen<typeof timing>;
