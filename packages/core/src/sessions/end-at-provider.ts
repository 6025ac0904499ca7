import { logins, sessions, type Transaction, userIdentities, users } from '@belay/db';
import { and, asc, eq, inArray, isNull, ne, or, type SQL, sql } from 'drizzle-orm';
import { appendLedger } from '../ledger/append.js';
import { leaveProvider } from './leave.js';

/** What a provider has ended: the sign-in of one login, one sign-in by the provider's id, or all sign-ins of a person. */
export type EndedThere = { loginId: string } | { subject?: string | undefined; sid?: string | undefined };

/**
 * Ends what belongs to a sign-in that a provider has ended: sessions, and the logins that prove nothing else. Tokens
 * that an operator created belong to no sign-in. A person whose sign-in it was cannot decide by messages any more until they
 * sign in again, unless another sign-in of theirs is live (`endDeciding`). Returns how many logins it changed.
 */
export async function endAtProvider(
  tx: Transaction,
  input: { provider: string; ended: EndedThere; because: string },
): Promise<number> {
  const { provider, ended, because } = input;
  const people = await lockPeople(tx, provider, ended);
  const inSessions = tx
    .select({ id: sessions.loginId })
    .from(sessions)
    .where(and(eq(sessions.provider, provider), matches(sessions, ended)));
  const found = await tx
    .select()
    .from(logins)
    .where(
      and(
        ne(logins.kind, 'token'),
        'loginId' in ended
          ? eq(logins.id, ended.loginId)
          : or(and(eq(logins.provider, provider), matches(logins, ended)), inArray(logins.id, inSessions)),
      ),
    )
    .orderBy(asc(logins.id))
    .for('update');
  let changed = 0;
  for (const login of found) {
    const left = await leaveProvider(tx, login, provider);
    if (left === 'nothing') continue;
    changed += 1;
    await appendLedger(tx, [
      {
        type: left === 'login' ? 'login.ended' : 'session.ended',
        level: 'warning',
        message: `${left === 'login' ? 'A login' : `A session with ${provider}`} has ended: ${because}`,
        actor: { kind: 'system', name: 'sessions' },
        userId: login.userId,
        provider,
        data: { login_id: login.id, because },
      },
    ]);
  }
  await endDeciding(tx, { provider, ended, people });
  return changed;
}

/**
 * Locks and returns the people whose sign-in has ended at the provider: with all its sign-ins, or one of them. A decision that is
 * being recorded, and the end of another sign-in, are waited for (`requireLive`).
 */
async function lockPeople(tx: Transaction, provider: string, ended: EndedThere): Promise<string[]> {
  const id = logins.userId;
  const owners: SQL[] = [];
  if ('loginId' in ended) {
    owners.push(inArray(users.id, tx.select({ id }).from(logins).where(eq(logins.id, ended.loginId))));
  } else {
    const ofLogins = and(eq(logins.provider, provider), matches(logins, ended));
    const ofSessions = and(eq(sessions.provider, provider), matches(sessions, ended));
    owners.push(inArray(users.id, tx.select({ id }).from(logins).where(ofLogins)));
    owners.push(
      inArray(
        users.id,
        tx.select({ id }).from(sessions).innerJoin(logins, eq(logins.id, sessions.loginId)).where(ofSessions),
      ),
    );
    if (ended.subject !== undefined) {
      const accounts = isAccount(provider, ended.subject);
      owners.push(inArray(users.id, tx.select({ id: userIdentities.userId }).from(userIdentities).where(accounts)));
    }
  }
  const rows = await tx
    .select({ id: users.id })
    .from(users)
    .where(or(...owners))
    .orderBy(asc(users.id))
    .for('no key update');
  return rows.map((row) => row.id);
}

/** Matches the identities of one account at a provider, also those that another provider of the same issuer proved. */
function isAccount(provider: string, subject: string): SQL {
  return sql`(${userIdentities.subject} = ${subject} and (${userIdentities.provider} = ${provider}
    or ${userIdentities.issuer} in (select issuer from user_identities one where one.provider = ${provider} and one.subject = ${subject})))`;
}

/**
 * Ends the right of people to decide by a button in a message, which needs no login, as a deactivation does: what a provider said of
 * them no longer counts, except where another sign-in of the same identity is live. The account that the provider signed out
 * everywhere has no such sign-in.
 */
async function endDeciding(
  tx: Transaction,
  { provider, ended, people }: { provider: string; ended: EndedThere; people: string[] },
): Promise<void> {
  if (people.length === 0) return;
  const live = sql`exists (select from ${logins} login
    left join ${sessions} session on session.login_id = login.id
    where login.user_id = ${userIdentities.userId} and login.kind <> 'token' and login.expires_at > app_now()
      and (${userIdentities.provider}, ${userIdentities.subject})
        in ((login.provider, login.subject), (session.provider, session.subject)))`;
  const everywhere = 'loginId' in ended || ended.sid !== undefined ? undefined : ended.subject;
  const isOver = everywhere === undefined ? sql`not ${live}` : sql`(not ${live} or ${isAccount(provider, everywhere)})`;
  await tx
    .update(userIdentities)
    .set({ toldAt: new Date(0) })
    .where(and(inArray(userIdentities.userId, people), isOver));
}

/**
 * Matches the ended sign-ins. Where the person is known (`subject`), a sign-in of theirs without the provider's id
 * (`sid`) counts as ended too: in doubt, it has ended.
 */
function matches(table: typeof logins | typeof sessions, ended: EndedThere): SQL | undefined {
  if ('loginId' in ended) return undefined;
  const { subject, sid } = ended;
  const ofPerson = subject === undefined ? undefined : eq(table.subject, subject);
  if (sid === undefined) return ofPerson ?? sql`false`;
  return subject === undefined ? eq(table.sid, sid) : and(ofPerson, or(eq(table.sid, sid), isNull(table.sid)));
}
