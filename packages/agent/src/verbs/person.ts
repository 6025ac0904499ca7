import type { KeptSession, LocalContext, LocalPerson } from './ports.js';

/** The time at the server, as far as this machine knows it: a clock that is wrong by an hour ends no session early. */
function serverNow(ctx: LocalContext): number {
  return ctx.clock().getTime() - ctx.skew();
}

/** Returns the sessions that are not over, by provider. */
export function activeSessions(ctx: LocalContext): KeptSession[] {
  const now = serverNow(ctx);
  return ctx.sessions
    .all()
    .filter(({ expiry }) => Date.parse(expiry) > now)
    .sort((a, b) => (a.provider < b.provider ? -1 : 1));
}

/** Returns who is signed in here: the person of the session that was stored last. Undefined without a session. */
export function localPerson(ctx: LocalContext): LocalPerson | undefined {
  return activeSessions(ctx).reduce<KeptSession | undefined>(
    (latest, each) => (latest === undefined || each.storedAt > latest.storedAt ? each : latest),
    undefined,
  )?.person;
}
