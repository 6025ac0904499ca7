/** A statement that is built and not sent yet, as the query builder makes them. A promise is not one: it may be sent already. */
export interface Statement<Result = unknown> {
  execute(): Promise<Result>;
}

type ResultOf<S> = S extends Statement<infer Result> ? Result : undefined;

/**
 * Sends the statements of one transaction together, in this order, and returns their results. Each runs when the one before
 * it is done, so a statement after the one that takes a lock sees what the lock's last holder committed. `Promise.all` gives
 * no such order: the query builder sends a statement when it is awaited, and an async function awaits its own earlier.
 * Throws what the first failed statement throws.
 */
export function inOrder<const S extends readonly (Statement | undefined)[]>(
  statements: S,
): Promise<{ -readonly [K in keyof S]: ResultOf<S[K]> }> {
  // `execute` hands the statement to the driver before it returns; nothing is awaited between two of them.
  const sent = statements.map(async (statement) => statement?.execute());
  return Promise.all(sent) as Promise<{ -readonly [K in keyof S]: ResultOf<S[K]> }>;
}
