/** Why the embedded PostgreSQL did not start. */
export type EmbeddedPostgresErrorCode =
  | 'no_binaries'
  | 'other_version'
  | 'port_taken'
  | 'start_failed'
  | 'not_writable';

/** The embedded PostgreSQL did not start or stop. The message is one line for the operator, with the cause and the cure. */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError';

  constructor(
    readonly code: EmbeddedPostgresErrorCode,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message.replace(/\s+/g, ' ').trim(), options);
  }
}
