/** The exit codes of the process, published in docs/cli.md for scripts. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  notSignedIn: 3,
  refused: 4,
  notFound: 5,
  conflict: 6,
  unavailable: 7,
  /** A watched request ended without access. */
  endedWithoutAccess: 8,
  /** A planned change of the configuration has an effect on people. */
  changes: 9,
  /** Ctrl-C, as in shells. */
  interrupted: 130,
} as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];
