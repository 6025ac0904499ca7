import { logins, sessions, type Transaction } from '@belay/db';
import { and, asc, eq, inArray, isNull, ne, or, type SQL, sql } from 'drizzle-orm';
import { appendLedger } from '../ledger/append.js';
import { leaveProvider } from './leave.js';

/** What a provider has ended: the sign-in of one login, one sign-in by the provider's id, or all sign-ins of a person. */
export type EndedThere = { loginId: string } | { subject?: string | undefined; sid?: string | undefined };

/**
 * Ends what belongs to a sign-in that a provider has ended: sessions, and the logins that prove nothing else. Tokens
 * that an operator created belong to no sign-in. Returns how many logins it changed.
 */
export async function endAtProvider(
  tx: Transaction,
  input: { provider: string; ended: EndedThere; because: string },
): Promise<number> {
  const { provider, ended, because } = input;
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
  return changed;
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
