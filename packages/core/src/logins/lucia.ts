import { hashSecret } from '@belay/contract/canonical';
import { type Database, execute, logins, sqlText, type Transaction, userIdentities, users } from '@belay/db';
import { and, eq, lte, ne, sql } from 'drizzle-orm';
import { type Adapter, type DatabaseSession, Lucia, TimeSpan } from 'lucia';
import type { Store } from '../context.js';
import { passingGroups, unmetCondition } from '../people/admission.js';

export type LoginKind = 'browser' | 'device' | 'token';

export interface LoginAttributes {
  loginId: string;
  kind: LoginKind;
  provider: string;
  /** The person's identity at that provider; null for a login older than identities. */
  subject: string | null;
  label: string | null;
  sid: string | null;
  /** When the login ends if it is not used until then; `endsAt` is when it ends regardless of its use. */
  until: Date;
  endsAt: Date;
  /** When the provider last returned the person's data; null when no provider did. */
  toldAt: Date | null;
  /** The database's time. */
  now: Date;
}

export interface PersonAttributes {
  email: string;
  name: string;
  groups: string[];
  provider: string;
  subject: string;
}

declare module 'lucia' {
  interface Register {
    Lucia: Lucia<LoginAttributes, PersonAttributes>;
    DatabaseSessionAttributes: LoginAttributes;
    DatabaseUserAttributes: PersonAttributes;
  }
}

/** Returns a secret of 256 bits that proves a login; only its hash is stored. */
export function newLoginSecret(ctx: Store): string {
  return Buffer.from(ctx.randomBytes(32)).toString('base64url');
}

/**
 * Creates Lucia on our tables; only this module imports the library. The end of a session moves with its use, and its id is the secret of a
 * login. `rows` are the logins to validate, as returned by `readLogins`.
 */
export function luciaOf(
  ctx: Store,
  { db = ctx.db, rows = new Map() }: { db?: Database | Transaction; rows?: LoginRows } = {},
): Lucia<LoginAttributes, PersonAttributes> {
  return new Lucia(createAdapter(ctx, db, rows), {
    sessionExpiresIn: new TimeSpan(ctx.timing.login, 'ms'),
    getSessionAttributes: (attributes) => attributes,
    getUserAttributes: (attributes) => attributes,
  });
}

/**
 * Creates Lucia's adapter for our tables. Unlike Lucia's own adapters, it stores a secret as its hash, and times of the
 * database. Lucia compares with the process's clock, so times are shifted by the difference of the two clocks.
 */
function createAdapter(ctx: Store, db: Database | Transaction, rows: LoginRows): Adapter {
  let shift = 0;
  const toRow = (time: Date) => new Date(time.getTime() - shift);
  const toProcess = (time: Date) => new Date(time.getTime() + shift);
  return {
    async getSessionAndUser(secret) {
      const row = rows.get(secret);
      if (!row) return [null, null];
      const now = new Date(row.now);
      shift = ctx.clock().getTime() - now.getTime();
      const endsAt = endOf(ctx, row);
      const expires = new Date(row.expires_at);
      const until = expires < endsAt ? expires : endsAt;
      // The name and groups of a person come from the provider that proved this login. A login without its identity may
      // use only the data of the user that the same provider described, never what another provider says.
      if (!row.identified && (row.login_subject !== null || row.login_provider !== row.provider)) return [null, null];
      // A directory says that the person has left.
      if (row.deprovisioned) return [null, null];
      const catalog = ctx.catalog.current();
      if (unmetCondition(catalog, row) !== undefined) return [null, null];
      const attributes = {
        loginId: row.id,
        kind: row.kind,
        provider: row.login_provider,
        subject: row.login_subject,
        label: row.label,
        sid: row.sid,
        until: toProcess(until),
        endsAt: toProcess(endsAt),
        toldAt: row.told_at === null ? null : new Date(row.told_at),
        now,
      };
      // Lucia would write with each request of a login that cannot be extended further.
      const slides = until < endsAt || until <= now;
      const expiresAt = toProcess(slides ? until : new Date(now.getTime() + ctx.timing.login));
      const { email, name, provider, subject } = row;
      return [
        { id: secret, userId: row.user_id, expiresAt, attributes },
        { id: row.user_id, attributes: { email, name, groups: passingGroups(catalog, row), provider, subject } },
      ];
    },
    async getUserSessions(): Promise<DatabaseSession[]> {
      // Secrets are not stored, so a login cannot be converted back to a session of Lucia's.
      return [];
    },
    async setSession(session) {
      const { loginId, kind, provider, subject, label, sid } = session.attributes;
      const end = kind === 'token' ? Number.POSITIVE_INFINITY : ctx.catalog.current().loginEnd[kind];
      const left = Math.min(session.expiresAt.getTime() - ctx.clock().getTime(), end);
      const after = (milliseconds: number) => sql`app_now() + ${`${milliseconds} milliseconds`}::interval`;
      await db.insert(logins).values({
        secretHash: hashSecret(session.id),
        id: loginId,
        userId: session.userId,
        kind,
        provider,
        subject,
        label,
        sid,
        expiresAt: after(left),
        endsAt: after(Number.isFinite(end) ? end : left),
      });
    },
    async updateSessionExpiration(secret, expiresAt) {
      // A token ends at the time that its creator set, regardless of its use.
      await db
        .update(logins)
        .set({ expiresAt: sql`least(${toRow(expiresAt).toISOString()}::timestamptz, ${logins.endsAt})` })
        .where(and(eq(logins.secretHash, hashSecret(secret)), ne(logins.kind, 'token')));
    },
    async deleteSession(secret) {
      await db.delete(logins).where(eq(logins.secretHash, hashSecret(secret)));
    },
    async deleteUserSessions(userId) {
      await db.delete(logins).where(eq(logins.userId, userId));
    },
    async deleteExpiredSessions() {
      await db.delete(logins).where(lte(logins.expiresAt, sql`app_now()`));
    },
  };
}

/** How many logins one query reads: a statement must not grow with the number of callers. */
const together = 500;

/** A login with its person, as described by the provider that proved the login. */
interface LoginRow {
  secret_hash: string;
  id: string;
  user_id: string;
  kind: LoginKind;
  login_provider: string;
  login_subject: string | null;
  label: string | null;
  sid: string | null;
  created_at: string;
  expires_at: string;
  ends_at: string;
  deprovisioned: boolean;
  /** Whether the identity that proved the login exists. Without it, the data below comes from the user. */
  identified: boolean;
  provider: string;
  subject: string;
  email: string;
  name: string;
  groups: string[];
  organizations: string[];
  told_at: string | null;
  now: string;
}

/** Logins by their secrets. */
export type LoginRows = ReadonlyMap<string, LoginRow>;

/** Returns the logins of secrets, by secret, with one query for many. An unknown secret has no entry. */
export async function readLogins(ctx: Store, secrets: readonly string[]): Promise<LoginRows> {
  const byHash = new Map(secrets.map((secret) => [hashSecret(secret), secret]));
  const hashes = [...byHash.keys()];
  const found = new Map<string, LoginRow>();
  for (let from = 0; from < hashes.length; from += together) {
    const rows = await execute<LoginRow>(ctx.db, statement(hashes.slice(from, from + together)));
    for (const row of rows) found.set(byHash.get(row.secret_hash) ?? '', row);
  }
  return found;
}

/**
 * Returns the query of logins. It runs with every request, so it reads only the columns that are needed. Its text is the same for one login
 * and for many.
 */
function statement(hashes: readonly string[]) {
  // One text parameter for any number of logins: a hash contains no comma.
  return sqlText`
    select login.secret_hash, login.id, login.user_id, login.kind, login.label, login.sid,
      login.provider as login_provider, login.subject as login_subject,
      login.created_at, login.expires_at, login.ends_at,
      person.deprovisioned_at is not null as deprovisioned, known.subject is not null as identified,
      coalesce(known.provider, person.provider) as provider, coalesce(known.subject, person.subject) as subject,
      coalesce(known.email, person.email) as email, coalesce(known.name, person.name) as name,
      coalesce(known.groups, person.groups) as groups,
      coalesce(known.organizations, person.groups) as organizations, known.told_at, app_now() as now
    from ${logins} login
    join ${users} person on person.id = login.user_id
    left join ${userIdentities} known
      on known.provider = login.provider and known.subject = login.subject and known.user_id = login.user_id
    where login.secret_hash = any (string_to_array(${hashes.join(',')}, ','))`;
}

/**
 * Returns when a login ends regardless of its use: as set at its creation, or earlier if the operator has shortened it
 * since.
 */
function endOf(ctx: Store, { kind, created_at, ends_at }: LoginRow): Date {
  const endsAt = new Date(ends_at);
  if (kind !== 'browser' && kind !== 'device') return endsAt;
  const end = new Date(new Date(created_at).getTime() + ctx.catalog.current().loginEnd[kind]);
  return end < endsAt ? end : endsAt;
}
