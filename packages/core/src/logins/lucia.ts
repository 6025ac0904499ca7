import { hashSecret } from '@belay/contract/canonical';
import { type Database, logins, type Transaction, userIdentities, users } from '@belay/db';
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
  /** When the login ends: by its current expiry, and at the latest regardless of its use. */
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
 * Creates Lucia on our tables: only this module uses it. Sessions slide; their ids are the secrets of logins. `row` is
 * the login to validate, as `readLogins` has read it.
 */
export function luciaOf(
  ctx: Store,
  { db = ctx.db, row }: { db?: Database | Transaction; row?: LoginRow } = {},
): Lucia<LoginAttributes, PersonAttributes> {
  return new Lucia(createAdapter(ctx, db, row), {
    sessionExpiresIn: new TimeSpan(ctx.timing.login, 'ms'),
    getSessionAttributes: (attributes) => attributes,
    getUserAttributes: (attributes) => attributes,
  });
}

/**
 * Lucia's adapter with two differences from its own: a secret is stored as its hash, and times are the database's.
 * Lucia compares with the process's clock, so times are shifted by the difference of the two clocks.
 */
function createAdapter(ctx: Store, db: Database | Transaction, row: LoginRow | undefined): Adapter {
  let shift = 0;
  const toRow = (time: Date) => new Date(time.getTime() - shift);
  const toProcess = (time: Date) => new Date(time.getTime() + shift);
  return {
    async getSessionAndUser(secret) {
      if (!row) return [null, null];
      const now = new Date(row.now);
      shift = ctx.clock().getTime() - now.getTime();
      const { login } = row;
      const endsAt = endOf(ctx, login);
      const until = new Date(Math.min(login.expiresAt.getTime(), endsAt.getTime()));
      // The name and groups of a person are those from the provider that this login was proved with. Without its
      // identity, a login has only what it was created with, never what another provider says about the person.
      if (!row.identity && (login.subject !== null || login.provider !== row.user.provider)) return [null, null];
      // A directory says that the person has left.
      if (row.user.deprovisionedAt !== null) return [null, null];
      const user = { ...row.user, ...row.identity };
      const catalog = ctx.catalog.current();
      if (unmetCondition(catalog, user) !== undefined) return [null, null];
      const attributes = {
        loginId: login.id,
        kind: login.kind as LoginKind,
        provider: login.provider,
        subject: login.subject,
        label: login.label,
        sid: login.sid,
        until: toProcess(until),
        endsAt: toProcess(endsAt),
        toldAt: row.identity?.toldAt ?? null,
        now,
      };
      // Lucia would write with each request of a login that cannot be extended further.
      const slides = until < endsAt || until <= now;
      const expiresAt = toProcess(slides ? until : new Date(now.getTime() + ctx.timing.login));
      return [
        { id: secret, userId: login.userId, expiresAt, attributes },
        {
          id: login.userId,
          attributes: {
            email: user.email,
            name: user.name,
            groups: passingGroups(catalog, user),
            provider: user.provider,
            subject: user.subject,
          },
        },
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

/** Reads the logins of secrets, by secret; many share one query. An unknown secret has none. */
export async function readLogins(ctx: Store, secrets: readonly string[]): Promise<ReadonlyMap<string, LoginRow>> {
  const byHash = new Map(secrets.map((secret) => [hashSecret(secret), secret]));
  const hashes = [...byHash.keys()];
  const found = new Map<string, LoginRow>();
  for (let from = 0; from < hashes.length; from += together) {
    const rows = await prepared(ctx.db).execute({ hashes: hashes.slice(from, from + together).join(',') });
    for (const row of rows) found.set(byHash.get(row.login.secretHash) ?? '', row);
  }
  return found;
}

export type LoginRow = Awaited<ReturnType<ReturnType<typeof prepareLogins>['execute']>>[number];

const statements = new WeakMap<Database, ReturnType<typeof prepareLogins>>();

/** Runs with every request, so it is prepared once per pool, with the same text for one login and for many. */
function prepared(db: Database) {
  const ready = statements.get(db) ?? prepareLogins(db);
  statements.set(db, ready);
  return ready;
}

function prepareLogins(db: Database) {
  return (
    db
      .select({ login: logins, user: users, identity: userIdentities, now: sql<string>`app_now()` })
      .from(logins)
      .innerJoin(users, eq(users.id, logins.userId))
      .leftJoin(
        userIdentities,
        and(
          eq(userIdentities.provider, logins.provider),
          eq(userIdentities.subject, logins.subject),
          eq(userIdentities.userId, logins.userId),
        ),
      )
      // One text parameter for any number of logins: a hash contains no comma.
      .where(sql`${logins.secretHash} = any(string_to_array(${sql.placeholder('hashes')}, ','))`)
      .prepare('read_logins')
  );
}

/**
 * Returns when a login ends regardless of its use: as set at its creation, or earlier if the operator has shortened it
 * since.
 */
function endOf(ctx: Store, { kind, createdAt, endsAt }: typeof logins.$inferSelect): Date {
  if (kind !== 'browser' && kind !== 'device') return endsAt;
  const end = new Date(createdAt.getTime() + ctx.catalog.current().loginEnd[kind]);
  return end < endsAt ? end : endsAt;
}
