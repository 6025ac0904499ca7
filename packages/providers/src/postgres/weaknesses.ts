import { explainUnverified } from '@belay/contract/postgres-tls';
import type { Weakness } from '../port.js';
import type { PostgresConfig } from './config.js';
import type { Statements } from './database.js';
import { canWithholdSet } from './membership.js';

/** The setup of the server and of the connector's own user. */
interface Setup {
  version: number;
  superuser: boolean;
  signals: boolean;
  /**
   * Whether the user is a member of pg_use_reserved_connections, and the number of reserved connections (16 and
   * newer).
   */
  mayUseReserved: boolean;
  reserved: number;
  prepared: number;
}

/** Returns the weaknesses of a target's setup that could let access outlive its end, each with its remedy. */
export async function findWeaknesses(sql: Statements, config: PostgresConfig): Promise<Weakness[]> {
  const [setup] = await sql<[Setup]>`
    select
      pg_catalog.current_setting('server_version_num')::int as version,
      me.rolsuper as superuser,
      pg_catalog.pg_has_role(me.oid, 'pg_signal_backend', 'USAGE') as signals,
      coalesce((
        select pg_catalog.pg_has_role(me.oid, r.oid, 'USAGE') from pg_catalog.pg_roles r
        where r.rolname = 'pg_use_reserved_connections'
      ), false) as "mayUseReserved",
      coalesce(pg_catalog.current_setting('reserved_connections', true), '0')::int as reserved,
      pg_catalog.current_setting('max_prepared_transactions')::int as prepared
    from pg_catalog.pg_roles me where me.rolname = current_user`;
  return [...describe(setup, config)];
}

function* describe(setup: Setup, config: PostgresConfig): Generator<Weakness> {
  const unverified = explainUnverified(config.url);
  if (unverified !== undefined) {
    yield {
      message: unverified,
      cure: 'use sslmode=verify-full in the URL, with sslrootcert for an authority of your own',
    };
  }
  if (!setup.signals) {
    yield {
      message: "the connector's database user cannot terminate sessions, so they continue after a revocation",
      cure: 'grant it pg_signal_backend',
    };
  }
  if (!setup.superuser && !(setup.mayUseReserved && setup.reserved > 0)) {
    const reserve = canWithholdSet(setup.version)
      ? 'set reserved_connections to 3, grant its user pg_use_reserved_connections, and give'
      : 'give';
    yield {
      message:
        'no connection is reserved for the connector: a holder who uses all connections locks it out after a restart',
      cure: `${reserve} people's logins a CONNECTION LIMIT`,
    };
  }
  if (setup.prepared > 0) {
    yield {
      message: `max_prepared_transactions is ${setup.prepared}: a holder can prepare a transaction that outlives the access`,
      cure: 'set it to 0 unless an application needs it',
    };
  }
  // Without `accept_objects_left_behind`, nothing is granted before version 16, which `findObstacles` reports.
  if (!canWithholdSet(setup.version) && config.accept_objects_left_behind) {
    yield {
      message: `on PostgreSQL ${Math.floor(setup.version / 10_000)} a member can become the role and create objects as its owner`,
      cure: 'upgrade it to 16 or newer',
    };
  }
}
