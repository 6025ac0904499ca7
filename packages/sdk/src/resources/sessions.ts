import type { Transport } from '../transport/create-transport.js';
import type { CallOptions, IssuedSession, LocalLogin, SessionList, SessionToKeep, VerifiedSession } from '../types.js';

/** The caller's sessions with providers. */
export interface SessionsResource {
  list(options?: CallOptions): Promise<SessionList>;
  /** Returns the session of this login with a provider, to be sent with a request. Its version rises with each refresh. */
  issue(provider: string, options?: CallOptions): Promise<IssuedSession>;
  /** Returns the current contents of a session token. Needs no login. */
  verify(session: string, options?: CallOptions): Promise<VerifiedSession>;
  /** Agents and clients only: starts a sign-in that returns to this machine. */
  begin(provider?: string, options?: CallOptions): Promise<LocalLogin>;
  /** Agents and clients only: returns the session that this machine stores. */
  get(provider: string, options?: CallOptions): Promise<IssuedSession>;
  /** Agents and clients only: stores on this machine the session of a sign-in that was started on it. */
  keep(session: SessionToKeep, options?: CallOptions): Promise<{ message: string; expiry: string }>;
  /** Agents and clients only: removes the session from this machine permanently; tokens at the provider are not revoked. */
  remove(provider: string, options?: CallOptions): Promise<{ message: string }>;
}

export function createSessions(transport: Transport): SessionsResource {
  return {
    list: (options) => transport.query('sessions.list', undefined, options),
    verify: (session, options) => transport.mutate('sessions.verify', { session }, options),
    begin: (provider, options) =>
      transport.mutate('sessions.begin', provider === undefined ? {} : { provider }, options),
    get: (provider, options) => transport.query('sessions.get', { provider }, options),
    keep: (session, options) => transport.mutate('sessions.keep', session, options),
    remove: (provider, options) => transport.mutate('sessions.remove', { provider }, options),
    issue: (provider, options) => transport.mutate('auth.session', { provider }, options),
  };
}
