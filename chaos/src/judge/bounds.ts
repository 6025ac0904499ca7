/** What is promised (docs/guarantees.md), in milliseconds. Not to be loosened because a machine is busy. */
export const bounds = {
  /** Lateness of a revocation, and of a grant, without a fault at that system. */
  late: 2_000,
  /** The same after the end of a fault, and how long active access may be missing because of one. */
  afterFault: 10_000,
  /** The same where a worker that was killed or stopped had leased the work. */
  lease: 45_000,
  /** From the end of a fault to the next answer, and to the next grant. */
  recovery: 10_000,
  /** How long active access may be missing without a fault: samples are 100 ms apart. */
  missing: 300,
  /** One HTTP request. */
  request: 15_000,
  /** One that waits for Belay's database. */
  database: 10_000,
  /** A readiness probe while a workflow is a burden. */
  ready: 200,
  /** A denial while a target is silent. */
  denial: 2_000,
  /** How far before its acknowledgement a killed process may have leased work. */
  leased: 2_000,
} as const;
