/** The names and values of settings (GUCs) of a PostgreSQL session, as `pg_settings` shows them. */
export type SessionSettings = Readonly<Record<string, string | number | boolean | undefined>>;

/**
 * What every connection to a PostgreSQL asks for, Belay's own database and targets alike: with another value the same statement
 * reads, writes or returns something else, or the session ends by itself. A default of the database, the role or the server must
 * not decide that. All of them exist from PostgreSQL 15 on.
 *
 * Read-only (`default_transaction_read_only`) is not here on purpose: operators fence a server with it, so it is waited out.
 */
export const meaningSettings = {
  // With another style, `08/09/2026` in a response is read with day and month exchanged.
  DateStyle: 'ISO, YMD',
  IntervalStyle: 'postgres',
  TimeZone: 'UTC',
  bytea_output: 'hex',
  extra_float_digits: '1',
  standard_conforming_strings: 'on',
  client_encoding: 'UTF8',
  array_nulls: 'on',
  transform_null_equals: 'off',
  default_transaction_isolation: 'read committed',
  exit_on_error: 'off',
} as const satisfies SessionSettings;

/**
 * What the examination sets where it has another value, instead of asking for it when the connection opens: it is newer than the
 * oldest version, is turned off by a zero, which the driver does not send, has several right values, or a default that is not right,
 * which every pooler that drops settings would need another one for.
 */
const corrected: { name: string; when: string; to: string }[] = [
  { name: 'idle_session_timeout', when: "<> '0'", to: '0' },
  // A policy that would hide rows from a statement makes it fail, instead of letting it work on fewer rows.
  { name: 'row_security', when: "<> 'off'", to: 'off' },
  { name: 'transaction_timeout', when: "<> '0'", to: '0' },
  // Only `off` loses committed rows in a crash; which of the others applies is the operator's choice.
  { name: 'synchronous_commit', when: "= 'off'", to: 'on' },
];

/** What a connection is used for: rows of Belay's own, a target, or jobs, which may be lost in a crash. */
export type SessionPurpose = 'rows' | 'target' | 'jobs';

/** What a connection must not have, for which purpose, and what it needs instead. As a rule its user may not change the first. */
const refused: { name: string; unwanted: string; needed: string; purposes: readonly SessionPurpose[] }[] = [
  // The triggers that write notices, keep the ledger append-only and wake the queue would not run.
  { name: 'session_replication_role', unwanted: 'replica', needed: 'origin', purposes: ['rows', 'jobs'] },
  { name: 'synchronous_commit', unwanted: 'off', needed: 'on', purposes: ['rows', 'target'] },
];

/** The codes of a connection that was opened and is not used: its settings, its certificate (`TlsFault`), a server without TLS. */
export const unfitCodes = {
  settings: 'SESSION_SETTINGS',
  certificate: 'TLS_CERTIFICATE',
  notOffered: 'TLS_NOT_OFFERED',
} as const;

/** A new connection does not have the settings that it requested, so no statement was sent over it. */
export class SessionFault extends Error {
  readonly code = unfitCodes.settings;
  /** Each as `name=value`, with the value that is needed. */
  readonly settings: readonly string[];

  constructor(settings: readonly string[]) {
    super(`the connection does not have the settings that it needs: ${settings.join(' and ')}`);
    this.name = 'SessionFault';
    this.settings = settings;
  }
}

/** The statement that is sent once over each new connection, before any other, and how its rows are judged. */
export interface SessionExamination {
  text: string;
  /** Returns why the connection may not be used, or undefined. */
  judge(rows: readonly { name: string; setting: string }[]): SessionFault | undefined;
}

/** Returns the examination of a new connection that requested `asked`, and is used for `purpose`. */
export function examineSession(asked: SessionSettings, purpose: SessionPurpose): SessionExamination {
  const unwanted = refused.filter(({ purposes }) => purposes.includes(purpose));
  const correcting = corrected.filter(({ name }) => !(name in asked));
  const names = [asked, ...unwanted, ...correcting].flatMap((one) =>
    'name' in one ? String(one.name) : Object.keys(one),
  );
  const cases = correcting.map(
    ({ name, when, to }) =>
      `when name = ${quote(name)} and setting ${when} then pg_catalog.set_config(name, ${quote(to)}, false)`,
  );
  return {
    text: `select name, case ${cases.join(' ')} else setting end as setting from pg_catalog.pg_settings
      where name in (${[...new Set(names)].map(quote).join(', ')})`,
    judge(rows) {
      const found = new Map(rows.map(({ name, setting }) => [name, setting]));
      const settings = [
        ...Object.entries(asked).flatMap(([name, needed]) =>
          found.get(name) === String(needed) ? [] : `${name}=${needed}`,
        ),
        ...unwanted.flatMap((one) => (found.get(one.name) === one.unwanted ? `${one.name}=${one.needed}` : [])),
      ];
      return settings.length === 0 ? undefined : new SessionFault(settings);
    },
  };
}

/**
 * Returns a statement that asks for settings on an open connection, for a driver that can send few of them when it connects. Its
 * values are in force for every later statement of the session.
 */
export function askForSettings(asked: SessionSettings): string {
  const values = Object.entries(asked).map(([name, value]) => `(${quote(name)}, ${quote(String(value))})`);
  return `select pg_catalog.set_config(name, value, false) from (values ${values.join(', ')}) as asked (name, value)`;
}

/** Returns the error among an error and its causes that a connection had the wrong settings, or undefined. */
export function findSessionFault(error: unknown): SessionFault | undefined {
  for (let one = error, depth = 0; one instanceof Error && depth < 8; one = one.cause, depth++) {
    if (one instanceof SessionFault) return one;
  }
  return undefined;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
