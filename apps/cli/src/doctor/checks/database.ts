import { type Check, failed, noServerHere, type Outcome, ok, warning } from '../check.js';

/** Checks that the database responds, is new enough, and lets the server create its tables. */
export const database: Check = {
  name: 'database',
  run: async ({ local, diagnosis }) => {
    if ((await local()) === undefined) return noServerHere;
    const found = await diagnosis.database();
    if (found.kind === 'fault') {
      const [message = found.message, ...cure] = found.message.split(/; |: (?=start|set|move|dump|restore)/);
      return failed(message, cure.join('; ') || 'see the log of the database');
    }
    if (found.kind === 'embedded') {
      return ok(
        found.exists ? 'embedded, in the data folder' : 'embedded, created in the data folder at the first start',
      );
    }
    const { version, mayMigrate, migrated, closed, name, fsync, unverified } = found;
    const outcomes: Outcome[] = [ok(`PostgreSQL ${version}, ${migrated ? 'with Belay’s tables' : 'empty'}`)];
    if (!mayMigrate) {
      const cure = 'as its owner: GRANT CREATE ON SCHEMA public TO the user of DATABASE_URL';
      outcomes.push(failed('the user of DATABASE_URL cannot create tables', cure));
    }
    // A new database of PostgreSQL is open to all users. The first start of the server closes it when it has the privileges.
    if (migrated && !closed) {
      const cure = `as its owner: REVOKE CONNECT, TEMPORARY ON DATABASE "${name}" FROM PUBLIC; REVOKE CREATE ON SCHEMA public FROM PUBLIC; and GRANT CONNECT to the user of DATABASE_URL`;
      outcomes.push(warning('every user of the database server can connect, and could slow Belay down', cure));
    }
    if (!fsync) {
      const cure = 'set fsync = on in its postgresql.conf';
      outcomes.push(
        warning('the database does not wait for its disk: a crash of its machine loses requests and access', cure),
      );
    }
    if (unverified !== undefined) {
      outcomes.push(
        warning(unverified, 'use sslmode=verify-full in DATABASE_URL, with sslrootcert for an authority of your own'),
      );
    }
    return outcomes;
  },
};
