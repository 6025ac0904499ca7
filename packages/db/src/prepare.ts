import type { Sql } from 'postgres';

/**
 * Returns the client with an `unsafe`, the only method that drizzle calls, that prepares each statement once per
 * connection and keeps it: the server parses and plans a text once instead of every time. The texts come from our own
 * queries, so their number is limited.
 */
export function preparing<T extends Sql>(client: T): T {
  return new Proxy(client, {
    get(target, property, receiver) {
      const value: unknown = Reflect.get(target, property, receiver);
      if (property === 'unsafe') {
        // Sent immediately: an `await` would send it one turn later, after statements that follow it (`commitWith`).
        return (text: string, parameters?: never[]) => target.unsafe(text, parameters, { prepare: true }).execute();
      }
      if (property === 'begin' || property === 'savepoint') {
        return (...given: unknown[]) => {
          const work = given.at(-1) as (inner: Sql) => unknown;
          const call = value as (...values: unknown[]) => unknown;
          return call.call(target, ...given.slice(0, -1), (inner: Sql) => work(preparing(inner)));
        };
      }
      return value;
    },
  });
}
