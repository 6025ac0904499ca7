/** The provider may answer differently later. `afterMilliseconds` is its own wish, when it states one. */
export class Retryable extends Error {
  override readonly name = 'Retryable';
  constructor(
    message: string,
    readonly options: { afterMilliseconds?: number; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
  }
}

/** The provider will not answer differently; messages are fit for the requester to read and carry no secret. */
export class Terminal extends Error {
  override readonly name = 'Terminal';
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, { cause: options.cause });
  }
}
