import { type Context, verifyLogin } from '@belay/core';

type Verified = ReturnType<typeof verifyLogin>;

/**
 * Verifies logins, asking once for the requests of one token that arrived together. It is no cache: the question is put
 * after the last of these requests was read, so that a login that had ended by then is refused to all of them.
 */
export function verifyTogether(context: Context): (token: string) => Verified {
  const waiting = new Map<string, Verified>();
  return (token) => {
    const joined = waiting.get(token);
    if (joined !== undefined) return joined;
    const asked = new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      waiting.delete(token);
      return verifyLogin(context, { token });
    });
    waiting.set(token, asked);
    return asked;
  };
}
