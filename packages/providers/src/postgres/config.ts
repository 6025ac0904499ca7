import { z } from 'zod';

/** The most bytes a PostgreSQL name keeps (NAMEDATALEN - 1); longer ones are cut off silently by the server. */
export const longestName = 63;

const url = z.string().refine(isDatabaseUrl, {
  message: 'must be postgres://<user>:<password>@<host>:<port>/<database>, with the user and the database named',
});

const table = z
  .record(z.string(), z.string().min(1))
  .refine((people) => new Set(Object.keys(people).map(lowerCase)).size === Object.keys(people).length, {
    message: 'names the same e-mail address twice',
  });

/** What a provider of type `postgres` is configured with. */
export const postgresConfig = z.strictObject({
  url,
  /** How a person becomes a login role: the local part of the e-mail, the whole of it, or a table of both. */
  identity: z.union([z.enum(['username', 'email']), z.strictObject({ table })]).default('username'),
  /** Whose e-mail addresses count for `identity: username`; without it the same local part elsewhere is the same role. */
  email_domains: z.array(z.string().min(1)).optional(),
  max_connections: z.int().min(1).max(4).default(2),
  /** Lets roles be granted that can change other roles, act outside the database, or build what stays. */
  allow_privileged_roles: z.boolean().default(false),
  /** Before PostgreSQL 16: lets roles be granted although the holder can create objects that keep the role's access. */
  accept_objects_left_behind: z.boolean().default(false),
});

export type PostgresConfig = z.infer<typeof postgresConfig>;

/** The access of this connector: direct membership of a database role. */
export const membership = z.strictObject({ role: z.string().min(1) });

/** Whether `name` can be the name of a role without PostgreSQL cutting it off or refusing its bytes. */
export function isPossibleName(name: string): boolean {
  return name !== '' && !name.includes('\0') && !/\p{Surrogate}/u.test(name) && Buffer.byteLength(name) <= longestName;
}

/** `name` as a quoted SQL identifier; throws on a name that PostgreSQL would cut off and so take for another one. */
export function quoteName(name: string): string {
  if (!isPossibleName(name)) throw new Error('Not the name of a database role');
  return `"${name.replaceAll('"', '""')}"`;
}

/** Returns where a URL leads: all of it but the user and the password, which may change while access is held. */
export function addressOf(url: string): string {
  const { protocol, host, pathname, search } = new URL(url);
  return `${protocol.replace('postgresql:', 'postgres:')}//${host}${pathname}${search}`;
}

export function lowerCase(text: string): string {
  return text.toLowerCase();
}

function isDatabaseUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, hostname, pathname } = new URL(text);
  return /^postgres(ql)?:$/.test(protocol) && username !== '' && hostname !== '' && pathname.length > 1;
}
