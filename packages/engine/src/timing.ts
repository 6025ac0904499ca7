/** The engine's constants of time, in milliseconds. */
export const engineTiming = {
  /** How long a claim lasts; longer than any call, so that no heartbeat is needed. The sweep after it finds the step within 45 s. */
  lease: 40_000,
  /**
   * The lease of an execution's first turn. Short, because a turn that two processes take is still written only once.
   */
  turnLease: 10_000,
  /** How much processor time an execution may use in one turn, its expressions included. */
  turn: 250,
  /** The pause before a failed call is repeated; it doubles from the first to the last. */
  grantBackoff: { first: 1_000, last: 30_000 },
  /** The pause between attempts at a turn that fails with an internal error. */
  turnBackoff: { first: 1_000, last: 5 * 60_000 },
} as const;

type Widen<T> = { readonly [K in keyof T]: T[K] extends number ? number : Widen<T[K]> };
/** The type of these constants, so that tests and the demo can pass others. */
export type EngineTiming = Widen<typeof engineTiming>;
