/**
 * A statement that is built and not yet sent, as the query builder makes it. A promise does not qualify: it may have
 * been sent already.
 */
export interface Statement<Result = unknown> {
  execute(): Promise<Result>;
}

type ResultOf<S> = S extends Statement<infer Result> ? Result : undefined;

/**
 * Sends statements of one transaction together, in this order, and returns their results. Each runs after the one
 * before it, so a statement after one that takes a lock sees what the lock's previous holder committed. `Promise.all`
 * does not keep the order: the query builder sends a statement when it is awaited, and an async function awaits its
 * own statements earlier. Throws the error of the first statement that failed.
 */
export function inOrder<const S extends readonly (Statement | undefined)[]>(
  statements: S,
): Promise<{ -readonly [K in keyof S]: ResultOf<S[K]> }> {
  // `execute` gives the statement to the driver before it returns; nothing is awaited between two statements.
  const sent = statements.map(async (statement) => statement?.execute());
  return Promise.all(sent) as Promise<{ -readonly [K in keyof S]: ResultOf<S[K]> }>;
}
