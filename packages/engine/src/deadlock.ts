/** Repeats a transaction that PostgreSQL ended because of a deadlock (40P01). Throws the error of the last attempt. */
export async function retryDeadlock<T>(attempt: () => Promise<T>, attempts = 2): Promise<T> {
  for (let made = 1; ; made += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (made >= attempts || !isDeadlock(error)) throw error;
    }
  }
}

function isDeadlock(error: unknown): boolean {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error && 'code' in cause && cause.code === '40P01';
}
