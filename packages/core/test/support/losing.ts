import type { Context } from '@belay/core';

type Database = Context['db'];

/** The driver attaches the statement to an error. */
const reset = () =>
  Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', query: 'select', parameters: [] });

/**
 * Returns a database that loses the response to the first statement or commit after which `isMeant` returns true: the work was
 * done, and its process receives the error of a reset connection.
 */
export function losingTheAnswer(db: Database, isMeant: () => Promise<boolean>): { db: Database; lost(): boolean } {
  let lost = false;
  const losing =
    (commit: (...given: never[]) => Promise<unknown>) =>
    async (...given: never[]) => {
      const result = await commit(...given);
      if (lost || !(await isMeant())) return result;
      lost = true;
      throw reset();
    };
  const get = (target: Database, property: string) => {
    const value = Reflect.get(target, property);
    // `execute` of packages/db sends statements without the query builder.
    if (property === '_')
      return { session: { client: { unsafe: losing(value.session.client.unsafe.bind(value.session.client)) } } };
    return property === 'transaction' || property === 'execute' ? losing(value.bind(target)) : value;
  };
  return { db: new Proxy(db, { get: (target, property) => get(target, String(property)) }), lost: () => lost };
}

/** Returns a database that cannot be reached while `isAway` returns true. */
export function goingAway(db: Database, isAway: () => boolean): Database {
  return new Proxy(db, {
    get: (target, property) => {
      if (isAway()) throw reset();
      return Reflect.get(target, property);
    },
  });
}
