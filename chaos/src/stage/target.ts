import { setTimeout as wait } from 'node:timers/promises';
import postgres from 'postgres';
import type { History } from '../history.js';
import { roles, type TargetName, targets } from './names.js';
import { onConnection, type PostgresServer } from './postgres.js';
import { within } from './within.js';

const password = 'chaos';
const connector = 'chaos_connector';
const every = 100;
/** When a sample comes longer than this after the last one, the time between them counts as not sampled. */
const longestGap = 500;

export interface Target {
  /** Returns the URL that Belay is configured with, at the port of a proxy. */
  url(target: TargetName, port: number): string;
  /** Records in the history what is held, ten times a second, until it is stopped. */
  watch(history: History): { stop(): Promise<void> };
}

/** Creates the databases, the roles that can be granted, a login role for each person, and the role of the connector. */
export async function makeTarget(server: PostgresServer, people: readonly string[]): Promise<Target> {
  for (const name of targets) await server.ensureDatabase(name);
  const grantable = Object.values(roles).flatMap(({ grants }) => grants.map(roleOf));
  const statements = [
    `create role ${connector} login password '${password}'`,
    `grant pg_signal_backend to ${connector}`,
    ...people.map((name) => `create role ${name} login password '${password}'`),
    ...grantable.flatMap((role) => [
      `create role ${role} nologin`,
      `grant ${role} to ${connector} with admin true, inherit false, set false`,
    ]),
  ];
  await onConnection(server.url('postgres'), (sql) => sql.unsafe(statements.join(';')));
  return {
    url(target, port) {
      const url = new URL(server.url(target));
      url.username = connector;
      url.password = password;
      url.port = String(port);
      return url.href;
    },
    watch: (history) => watchHoldings(server, people, history),
  };
}

function roleOf(grant: string): string {
  return grant.split('/')[1] ?? '';
}

function watchHoldings(server: PostgresServer, people: readonly string[], history: History) {
  // For what is held, the judge relies on these samples only: the memberships of roles, read from the server itself
  // without a proxy.
  const sql = postgres(server.url('postgres'), { max: 1, onnotice: () => {}, connect_timeout: 2 });
  const holdingOf = new Map(
    Object.values(roles).flatMap(({ grants }) => grants.map((grant) => [roleOf(grant), grant])),
  );
  let stopped = false;
  let last = Date.now();
  const sample = async () => {
    const rows = await sql<{ person: string; role: string }[]>`
      select member.rolname as person, granted.rolname as role from pg_auth_members
      join pg_roles granted on granted.oid = roleid join pg_roles member on member.oid = member
      where member.rolname = any(${[...people]})`;
    const at = Date.now();
    if (at - last > longestGap) history.blind.push({ from: last, to: at });
    for (const { person, role } of rows) {
      const holding = `${person} ${holdingOf.get(role) ?? role}`;
      const intervals = history.held[holding] ?? [];
      history.held[holding] = intervals;
      const open = intervals.at(-1);
      if (open?.to === last) open.to = at;
      else intervals.push({ from: at, to: at });
    }
    last = at;
  };
  const running = (async () => {
    while (!stopped) {
      await sample().catch(() => {});
      await wait(every);
    }
  })();
  return {
    async stop() {
      stopped = true;
      await within(running, 'The PostgreSQL of the target did not respond');
      await sql.end({ timeout: 1 });
    },
  };
}
