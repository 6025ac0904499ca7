/**
 * Why an expression failed. These codes are only for failures of the program itself; a failure of the host is an
 * ordinary error.
 */
export type ExpressionErrorCode =
  | 'ERR_EXPRESSION_SYNTAX'
  | 'ERR_EXPRESSION_REFUSED'
  | 'ERR_EXPRESSION_FAILED'
  | 'ERR_EXPRESSION_TIMEOUT'
  | 'ERR_EXPRESSION_RESULT'
  | 'ERR_EXPRESSION_TOO_DEEP'
  | 'ERR_EXPRESSION_TOO_LONG';

/**
 * The threads that run expressions and check schemas are not available: too many programs wait, no thread can be
 * started, the machine is too busy to give them processor time, or the process is stopping. Never the workflow's fault;
 * the same work can be done later.
 */
export class ExpressionOutage extends Error {
  override readonly name = 'ExpressionOutage';
  readonly code = 'EXPRESSIONS_UNAVAILABLE';
}

/** A runtime expression that could not be evaluated; the machine converts it to the DSL's expression fault (400). */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
  readonly code: ExpressionErrorCode;

  constructor(code: ExpressionErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
