/** What the process ends with; docs/cli.md publishes them, so that scripts can tell failures apart. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  notSignedIn: 3,
  refused: 4,
  notFound: 5,
  conflict: 6,
  unavailable: 7,
  /** A watched request ended, and its requester never had the access. */
  endedWithoutAccess: 8,
  /** Ctrl-C, as shells have it. */
  interrupted: 130,
} as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];
