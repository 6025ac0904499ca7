import type { Sql } from 'postgres';

/**
 * The same client, whose `unsafe`, which is all that drizzle calls, prepares each statement once per connection and keeps
 * it there: the server parses and plans a text once instead of every time. The texts come from our own queries, so there
 * are as many of them as there are queries.
 */
export function preparing<T extends Sql>(client: T): T {
  return new Proxy(client, {
    get(target, property, receiver) {
      const value: unknown = Reflect.get(target, property, receiver);
      if (property === 'unsafe') {
        // Handed over at once: an `await` would do it a turn later, behind what is sent after it (`commitWith`).
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
