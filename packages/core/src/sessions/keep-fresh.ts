import { type Database, logins, sessions } from '@belay/db';
import { and, desc, eq, gt, isNotNull, isNull, lte, or, sql } from 'drizzle-orm';
import type { Context, UserActor } from '../context.js';
import { renewSession } from './renew.js';

type Row = typeof sessions.$inferSelect;
/** `silent`: no session of the person can be refreshed; `later`: the provider was not available, or another process refreshes. */
type Answer = 'read' | 'silent' | 'later';

interface Question {
  answer: Promise<Answer>;
  /** The provider is not called again before this time: while the call runs, and for a while when it did not return data. */
  until: number;
}

/** Each identity is refreshed once at a time in a process, and by one process at a time (the session's lease). */
const questions = new WeakMap<Database, Map<string, Question>>();
const most = 1_000;

/** The providers for which the log already says that groups cannot be read again. */
const mute = new WeakMap<Database, Set<string>>();

/**
 * Refreshes the provider's data of a person when it is old, in parallel with the request; the request waits, for a short
 * time, only when the data is too old. Returns `fresh` when the stored data may be used, `read` when it must be read again
 * from the rows, and `stale` when it is too old and the provider was not available. Data that cannot be refreshed, such as
 * that of SAML and of operators' tokens, counts as `fresh`.
 */
export async function keepGroupsFresh(
  ctx: Context,
  {
    login: { actor, kind },
    age,
  }: { login: { actor: UserActor; kind: (typeof logins.$inferSelect)['kind'] }; age: number },
): Promise<'fresh' | 'read' | 'stale'> {
  const { ahead, fresh, wait } = ctx.timing.groups;
  const authenticator = ctx.catalog.client(actor.provider)?.authenticator;
  const tells = authenticator?.reread !== undefined || authenticator?.refresh !== undefined;
  if (kind === 'token' || age <= ahead || !tells) return 'fresh';
  const asked = ask(ctx, actor);
  if (age <= fresh) return 'fresh';
  const stop = new AbortController();
  const late = ctx.delay(wait, stop.signal).then(
    () => 'later' as const,
    () => 'later' as const,
  );
  const answer = await Promise.race([asked, late]);
  stop.abort();
  if (answer === 'silent') tellMute(ctx, actor.provider);
  return answer === 'silent' ? 'fresh' : answer === 'read' ? 'read' : 'stale';
}

function ask(ctx: Context, actor: UserActor): Promise<Answer> {
  const known = questions.get(ctx.db) ?? new Map<string, Question>();
  questions.set(ctx.db, known);
  const now = ctx.clock().getTime();
  const key = JSON.stringify([actor.provider, actor.subject, actor.id]);
  const before = known.get(key);
  if (before !== undefined && now < before.until) return before.answer;
  if (known.size >= most) for (const [one, { until }] of known) if (until <= now) known.delete(one);
  const answer = askProvider(ctx, actor).catch((error: unknown): Answer => {
    ctx.log.warn({ provider: actor.provider, error }, 'the groups of a person could not be read');
    return 'later';
  });
  const question: Question = { answer, until: Number.POSITIVE_INFINITY };
  known.set(key, question);
  void answer.then((said) => {
    if (said === 'read') known.delete(key);
    else question.until = ctx.clock().getTime() + ctx.timing.groups.retry;
  });
  return answer;
}

/** Logs once for each provider that groups are not read again until a person's login ends: only an operator can change that. */
function tellMute(ctx: Context, provider: string): void {
  const told = mute.get(ctx.db) ?? new Set();
  mute.set(ctx.db, told);
  if (told.has(provider)) return;
  told.add(provider);
  ctx.log.warn(
    { provider },
    'the groups of people cannot be read again: their sign-ins have no refresh token (docs/guides/sign-in.md)',
  );
}

/** Calls the provider with the tokens of one session after the other, the caller's own first, until one succeeds. */
async function askProvider(ctx: Context, actor: UserActor): Promise<Answer> {
  const tried: string[] = [];
  let ended = false;
  for (;;) {
    const found = await claim(ctx, actor, tried);
    if (found === 'busy') return 'later';
    // An ended sign-in must be noticed, even when no session can be refreshed.
    if (found === 'none') return ended ? 'read' : 'silent';
    tried.push(found.loginId);
    const renewal = await renewSession(ctx, found, 'person');
    if (renewal === 'renewed') return 'read';
    if (renewal === 'later') return 'later';
    if (renewal === 'over') ended = true;
  }
}

async function claim(ctx: Context, actor: UserActor, tried: readonly string[]): Promise<Row | 'busy' | 'none'> {
  const { provider, subject, id } = actor;
  const now = sql`app_now()`;
  const readable = await ctx.db
    .select({ loginId: sessions.loginId })
    .from(sessions)
    .innerJoin(logins, eq(logins.id, sessions.loginId))
    .where(
      and(
        eq(sessions.provider, provider),
        eq(sessions.subject, subject),
        eq(sessions.userId, id),
        gt(logins.expiresAt, now),
        or(isNotNull(sessions.refreshAt), gt(sessions.expiresAt, now)),
      ),
    )
    .orderBy(desc(eq(sessions.loginId, actor.loginId)), desc(isNotNull(sessions.refreshAt)))
    .limit(5 + tried.length);
  const left = readable.filter(({ loginId }) => !tried.includes(loginId));
  for (const { loginId } of left) {
    const [row] = await ctx.db
      .update(sessions)
      .set({ leaseUntil: sql`app_now() + ${`${ctx.timing.lease} milliseconds`}::interval` })
      .where(
        and(
          eq(sessions.loginId, loginId),
          eq(sessions.provider, provider),
          or(isNull(sessions.leaseUntil), lte(sessions.leaseUntil, now)),
        ),
      )
      .returning();
    if (row) return row;
  }
  return left.length > 0 ? 'busy' : 'none';
}
