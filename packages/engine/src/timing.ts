/** The engine's constants of time, in milliseconds. */
export const engineTiming = {
  /** How long a claim lasts; longer than any call, so that no heartbeat is needed. */
  lease: 45_000,
  /** The lease of an execution's first turn. Short, because a turn that two processes take is written once all the same. */
  turnLease: 10_000,
  /** How much processor time an execution takes in one turn, its expressions included; then others have theirs. */
  turn: 250,
  /** The pause before a call that failed is made again; it doubles from the first to the last. */
  grantBackoff: { first: 1_000, last: 30_000 },
  /** Between the tries of a turn that fails by an error of ours. */
  turnBackoff: { first: 1_000, last: 5 * 60_000 },
} as const;

type Widen<T> = { readonly [K in keyof T]: T[K] extends number ? number : Widen<T[K]> };
/** The same constants as a type, so that tests and the demo can pass others. */
export type EngineTiming = Widen<typeof engineTiming>;
