import { TlsParameterError, tlsModeOf } from '@belay/contract/postgres-tls';
import { z } from 'zod';
import { emailDomain } from '../endpoint.js';
import { addressTable } from '../identity-setting.js';

/** The maximum length of a PostgreSQL name in bytes (NAMEDATALEN - 1); the server truncates longer ones. */
export const longestName = 63;

const url = z
  .string()
  .refine(isDatabaseUrl, {
    message: 'must be postgres://<user>:<password>@<host>:<port>/<database>, including the user and the database',
    abort: true,
  })
  .superRefine((text, context) => {
    try {
      tlsModeOf(text);
    } catch (error) {
      if (!(error instanceof TlsParameterError)) throw error;
      context.addIssue({ code: 'custom', message: error.message });
    }
  });

/** The configuration of a provider of type `postgres`. */
export const postgresConfig = z
  .strictObject({
    url,
    /**
     * How a person maps to a login role: by the local part of the e-mail address, by the whole address, or by a table
     * from e-mail addresses to login roles.
     */
    identity: z
      .union([z.enum(['username', 'email']), z.strictObject({ table: addressTable(z.string().min(1)) })], {
        error: 'must be username, email or {table: {e-mail address: login role, …}}',
      })
      .default('username'),
    /**
     * The domains of addresses that count for `identity: username`: the same local part in another domain is another
     * person.
     */
    email_domains: z.array(emailDomain).min(1).optional(),
    max_connections: z.int().min(1).max(4).default(2),
    /** Permits roles that can change other roles, act outside the database, or create objects that remain after the access. */
    allow_privileged_roles: z.boolean().default(false),
    /** Before PostgreSQL 16: permits grants although the holder can create objects that keep the role's access. */
    accept_objects_left_behind: z.boolean().default(false),
  })
  .refine(({ identity, email_domains }) => identity !== 'username' || email_domains !== undefined, {
    path: ['email_domains'],
    message:
      'is required with identity: username, because the part before the @ can repeat in other domains; list the domains of your people, for example [example.com]',
  });

export type PostgresConfig = z.infer<typeof postgresConfig>;

/** The access of this connector: direct membership of a database role. */
export const membership = z.strictObject({ role: z.string().min(1) });

/** Returns whether `name` can be the name of a role, without being truncated or rejected by PostgreSQL. */
export function isPossibleName(name: string): boolean {
  return name !== '' && !name.includes('\0') && !/\p{Surrogate}/u.test(name) && Buffer.byteLength(name) <= longestName;
}

/** Returns `name` as a quoted SQL identifier; throws for a name that PostgreSQL would truncate or reject. */
export function quoteName(name: string): string {
  if (!isPossibleName(name)) throw new Error('Not a valid name of a database role');
  return `"${name.replaceAll('"', '""')}"`;
}

/** Returns the address of a URL: everything but the user and the password, which may change while access is held. */
export function addressOf(url: string): string {
  const { protocol, host, pathname, search } = new URL(url);
  return `${protocol.replace('postgresql:', 'postgres:')}//${host}${pathname}${search}`;
}

/**
 * Returns the libpq variables for a person: host, port, database and `sslmode` of the URL, and `identity` as the user
 * instead of the connector's user and password.
 */
export function connectionOf(url: string, identity: string): Record<string, string> {
  const { hostname, port, pathname, searchParams } = new URL(url);
  const sslmode = searchParams.get('sslmode');
  return {
    PGHOST: hostname.replace(/^\[|\]$/g, ''),
    PGPORT: port || '5432',
    PGDATABASE: decodeURIComponent(pathname.slice(1)),
    PGUSER: identity,
    ...(sslmode === null ? {} : { PGSSLMODE: sslmode }),
  };
}

function isDatabaseUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, hostname, pathname } = new URL(text);
  return /^postgres(ql)?:$/.test(protocol) && username !== '' && hostname !== '' && pathname.length > 1;
}
