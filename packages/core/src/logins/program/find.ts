import type { ShownProgramLogin } from '@belay/contract/auth';
import { notFound } from '@belay/contract/errors';
import { programLogins } from '@belay/db';
import { requireUser } from '../../actor.js';
import type { ActorStore } from '../../context.js';
import { type NamedProgramLogin, waitingIn } from './waiting.js';

/**
 * Returns which program requests to sign in as the caller. Throws `not_found` unless it was started in this browser
 * and login.
 */
export async function findProgramLogin(ctx: ActorStore, input: NamedProgramLogin): Promise<ShownProgramLogin> {
  const waiting = waitingIn(requireUser(ctx), input);
  const [found] = waiting === undefined ? [] : await ctx.db.select().from(programLogins).where(waiting);
  if (!found) throw notFound('A sign-in of a program that waits in this browser');
  const { label, callback, createdAt, expiresAt } = found;
  const { origin, hostname } = new URL(callback);
  const own = origin === new URL(ctx.program.baseUrl).origin;
  const loopback = ['127.0.0.1', '[::1]', 'localhost'].includes(hostname);
  return {
    request: input.request,
    label,
    callback,
    place: own ? 'own' : loopback ? 'loopback' : 'listed',
    asked_at: createdAt.toISOString(),
    expires_at: expiresAt.toISOString(),
  };
}
