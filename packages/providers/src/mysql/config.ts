import { z } from 'zod';
import { emailDomain } from '../endpoint.js';

/** The longest name of a user or a role, in characters (MariaDB; 32 in MySQL, which rejects longer ones itself). */
export const longestName = 128;

const url = z.string().refine(isServerUrl, {
  message: 'must be mysql://<user>:<password>@<host>:<port>/<schema>, where the schema is the one made for Belay',
});

/** The configuration of a provider of type `mysql`. */
export const mysqlConfig = z
  .strictObject({
    /** The URL, with the user, the password and the schema that an administrator creates (docs/connectors/mysql.md). */
    url,
    /** The certificate authority that signed the server's certificate, if Node.js does not trust it by default. */
    ca: z
      .string()
      .regex(/-----BEGIN [A-Z ]+-----/, 'must be in PEM form')
      .optional(),
    /** Permits a connection without TLS to another machine. */
    allow_insecure_connection: z.boolean().default(false),
    /** The name of a person's account, made from the e-mail address. */
    username_template: z
      .string()
      .regex(/^[^{}]*\{(email|username)\}[^{}]*$/, 'must contain {email} or {username} once')
      .default('{username}'),
    /** Accounts by e-mail address, where the template does not apply: `rita`, or `rita@10.0.0.%`. */
    users: z.record(z.string(), z.string().min(1)).default({}),
    /** The domains of the addresses for which `{username}` is used. */
    email_domains: z.array(emailDomain).min(1).optional(),
    /** Roles that only Belay grants: every member of them is listed, also where an administrator granted it. */
    exclusive: z.array(z.string().min(1)).default([]),
    max_connections: z.int().min(1).max(4).default(2),
    /** Permits roles that act on the whole server, can grant privileges to others, or create objects that remain after the access. */
    allow_privileged_roles: z.boolean().default(false),
    /** Permits grants to accounts that can create tables, views or routines, with which they can keep the access. */
    accept_objects_left_behind: z.boolean().default(false),
  })
  .refine(({ username_template: template, email_domains: domains }) => template.includes('{email}') || domains, {
    path: ['email_domains'],
    message:
      'is required with {username}, because the part before the @ can repeat in other domains; list the domains of your people, for example [example.com]',
  });

export type MysqlConfig = z.infer<typeof mysqlConfig>;

/** The access of this connector: a role that is granted to an account. */
export const grantedRole = z.strictObject({ role: z.string().min(1) });

/** Returns the parts of a URL that `mysqlConfig` accepted. */
export function readUrl(text: string) {
  const { hostname, port, pathname, username, password } = new URL(text);
  return {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? 3306 : Number(port),
    schema: decodeURIComponent(pathname.slice(1)),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
  };
}

/** Returns whether a host is this machine, to which a connection needs no TLS. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d+){3}$/.test(host);
}

/**
 * Returns whether the server can tell this name from every other name. The server stores at most three bytes per character and
 * compares names without trailing spaces; some words stand for all accounts or for the current account.
 */
export function isPossibleName(name: string): boolean {
  if (name === '' || name !== name.trim() || [...name].length > longestName) return false;
  if (/[\p{Surrogate}\p{Cc}\u{10000}-\u{10FFFF}]/u.test(name)) return false;
  return !['public', 'none', 'current_user', 'current_role'].includes(name.toLowerCase());
}

/** Returns `name` as a quoted SQL identifier. Throws for a name that the server could confuse with another. */
export function quoteName(name: string): string {
  if (!isPossibleName(name)) throw new Error('Not a valid name of a role or a user');
  return `\`${name.replaceAll('`', '``')}\``;
}

function isServerUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, hostname, pathname, search } = new URL(text);
  return (
    /^(mysql|mariadb):$/.test(protocol) && username !== '' && hostname !== '' && /^\/\w+$/.test(pathname) && !search
  );
}
