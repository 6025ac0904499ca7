/** The promised bounds (docs/guarantees.md), in milliseconds. They are not to be loosened because a machine is busy. */
export const bounds = {
  /** Lateness of a revocation without a fault at that system. */
  late: 2_000,
  /** Lateness of a revocation after the end of a fault, and of any grant. Also how long active access may be missing because of a fault. */
  afterFault: 10_000,
  /** Lateness where a worker that was killed or stopped had leased the work. */
  lease: 45_000,
  /** From the end of a fault to the next answer, and to the next grant. */
  recovery: 10_000,
  /** How long active access may be missing without a fault: samples are 100 ms apart. */
  missing: 300,
  /** One HTTP request. */
  request: 15_000,
  /** An HTTP request that waits for Belay's database. */
  database: 10_000,
  /** A readiness probe while a workflow is a burden. */
  ready: 200,
  /** A denial while a target is silent. */
  denial: 2_000,
  /** How long after the start of a fault a request may be sent whose work the killed or stopped process has leased. */
  leased: 2_000,
} as const;
