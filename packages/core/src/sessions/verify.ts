import { AccessError, invalid } from '@belay/contract/errors';
import type { VerifiedSession } from '@belay/contract/sessions';
import { z } from 'zod';
import { requireUser } from '../actor.js';
import type { ActorContext, Context } from '../context.js';
import { readNow } from '../now.js';
import { readPerson } from '../people/people.js';
import { open } from '../tokens/seal.js';
import { type ActiveSession, findSessions } from './find.js';

export interface PresentedSession {
  session: string;
  /** The version that the client expects; when present, it must be the version of the session. */
  version?: number | undefined;
  /** Has to be a time; it is not compared. */
  expiry?: string | undefined;
}

const payloadSchema = z.strictObject({
  kind: z.literal('session'),
  user: z.string(),
  login: z.string(),
  provider: z.string(),
  version: z.number().int(),
});

/**
 * Returns what a presented session proves: that the caller is signed in with its provider now. Throws `invalid` for a
 * text that is not a session token, or is expired or modified, for another `version` than the token has and for an
 * `expiry` that is not a time. Throws `unauthenticated` for a token that is not the caller's, not of the current
 * version, or whose login has ended.
 */
export async function verifySession(ctx: ActorContext, input: PresentedSession): Promise<ActiveSession> {
  const user = requireUser(ctx);
  const token = await openSessionToken(ctx, input.session, await readNow(ctx.db));
  const { user: owner, login: loginId, provider, version } = token;
  if (input.version !== undefined && input.version !== version) {
    throw invalid('session.version', 'is not the current version of the session');
  }
  if (input.expiry !== undefined && !z.iso.datetime({ offset: true }).safeParse(input.expiry).success) {
    throw invalid('session.expiry', 'is not a time');
  }
  const [active] = owner === user.id ? await findSessions(ctx, user, { loginId, provider }) : [];
  if (active?.version !== version) {
    throw new AccessError('unauthenticated', `The session with "${provider}" has ended; sign in with it again`);
  }
  return active;
}

/**
 * Returns the content of a session token, regardless of the caller. Throws `invalid` for a text that is not a session
 * token, or is expired or modified, and `unavailable` when its key cannot be read at the moment.
 */
async function openSessionToken(ctx: Context, token: string, now: Date): Promise<z.infer<typeof payloadSchema>> {
  const opened = await open(ctx.keyring, 'session', token, now).catch((cause: unknown) => {
    if (cause instanceof AccessError && cause.code === 'unavailable') throw cause;
    throw new AccessError('invalid', 'The session is not valid or has expired', {
      issues: [{ path: 'session', message: 'is not valid or has expired' }],
      cause,
    });
  });
  const payload = payloadSchema.safeParse(opened);
  if (!payload.success) throw invalid('session', 'is not valid or has expired');
  return payload.data;
}

/**
 * Returns what a session token proves now, for the agent or client that keeps it. Throws `invalid` for a text that is
 * not a session token, or is expired or modified, and `unauthenticated` when the session has ended.
 */
export async function inspectSession(ctx: Context, input: { session: string }): Promise<VerifiedSession> {
  const { user, login, provider, version } = await openSessionToken(ctx, input.session, await readNow(ctx.db));
  const [active] = await findSessions(ctx, { id: user, loginId: login }, { loginId: login, provider });
  const subject = active?.subject;
  const person = subject === undefined ? undefined : await readPerson(ctx, ctx.db, { userId: user, provider, subject });
  if (active?.version !== version || !person) {
    throw new AccessError('unauthenticated', `The session with "${provider}" has ended; sign in with it again`);
  }
  const { email, name, groups } = person;
  return { provider, version, expiry: active.expiresAt.toISOString(), user: { email, name, groups, provider } };
}
