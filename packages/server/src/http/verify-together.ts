import { type Context, verifyLogins } from '@belay/core';

type Verified = ReturnType<typeof verifyLogins>[number];

/**
 * Verifies logins, with one query for all that arrive in one turn of the event loop and one answer for the requests of one
 * login. It is no cache: the question is put after the last of these requests was read, so that a login that had ended by
 * then is rejected to all of them.
 */
export function verifyTogether(context: Context): (token: string) => Verified {
  let waiting = new Map<string, Verified>();
  let asked: Promise<(token: string) => Verified> | undefined;
  return (token) => {
    asked ??= new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      const tokens = [...waiting.keys()];
      waiting = new Map();
      asked = undefined;
      const logins = new Map(verifyLogins(context, { tokens }).map((login, index) => [tokens[index] ?? '', login]));
      return (one) => logins.get(one) ?? Promise.resolve(null);
    });
    const verified = waiting.get(token) ?? asked.then((loginOf) => loginOf(token));
    waiting.set(token, verified);
    return verified;
  };
}
