import type { Transport } from '../transport/create-transport.js';
import type { CallOptions, IssuedSession, SessionList, VerifiedSession } from '../types.js';

/** The caller's sessions with providers. */
export interface SessionsResource {
  list(options?: CallOptions): Promise<SessionList>;
  /** The session of the login in use with a provider, to be shown in a request. Its version rises with each refresh. */
  issue(provider: string, options?: CallOptions): Promise<IssuedSession>;
  /** What a session token is worth now; needs no login. */
  verify(session: string, options?: CallOptions): Promise<VerifiedSession>;
}

export function createSessions(transport: Transport): SessionsResource {
  return {
    list: (options) => transport.query('sessions.list', undefined, options),
    verify: (session, options) => transport.mutate('sessions.verify', { session }, options),
    issue: (provider, options) => transport.mutate('auth.session', { provider }, options),
  };
}
