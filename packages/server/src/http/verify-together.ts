import { type Context, verifyLogins } from '@belay/core';

type Verified = ReturnType<typeof verifyLogins>[number];

/**
 * Returns a function that verifies logins: all logins of one turn of the event loop in one query, and each login once. This is no
 * cache: the query starts after the last of these calls, so that a login that ended before is rejected for all of them.
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
