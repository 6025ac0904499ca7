export interface Whoami {
  id: string;
  email: string;
  name: string;
  groups: string[];
  provider: string;
  expires_at?: string;
}

/** A provider that one can sign in with; `url` is where a browser begins, relative to the server. */
export interface SignInProvider {
  id: string;
  name: string;
  description: string;
  url: string;
}

export interface SignInProviders {
  providers: SignInProvider[];
}

export interface CodeExchange {
  /** From the callback URL. */
  code: string;
  /** The PKCE verifier whose S256 challenge the login began with. */
  code_verifier: string;
}

export interface ExchangedToken {
  token: string;
  expires_at: string;
  user: { email: string; name: string; groups: string[]; provider: string };
  /** The login's session with the provider, to be shown in requests. */
  session: Session;
}

/** A session with a provider, as programs hold it; `session` is encrypted and good until `expiry`, in this `version` only. */
export interface Session {
  version: number;
  expiry: string;
  session: string;
}

export interface IssuedSession {
  session: Session;
}

/** What a session token is worth. */
export interface VerifiedSession {
  provider: string;
  version: number;
  expiry: string;
  user: { email: string; name: string; groups: string[]; provider: string };
}

export interface SessionList {
  version: string;
  timestamp: string;
  /** By provider. */
  sessions: Record<string, { version: number; expiry: string }>;
}

export interface LoggedOut {
  message: string;
}

/** Both codes of a login on a machine without a browser (RFC 8628). */
export interface StartedDeviceLogin {
  /** The program's own; secret. */
  device_code: string;
  /** The person's, to be typed at `verification_uri`. */
  user_code: string;
  verification_uri: string;
  verification_uri_complete: string;
  /** Seconds. */
  expires_in: number;
  /** Seconds between two questions. */
  interval: number;
}

export type PolledDeviceLogin =
  | { status: 'pending' | 'slow_down'; interval: number }
  | ({ status: 'complete'; session: Session | null } & Omit<ExchangedToken, 'session'>);

/** A sign-in that an agent or a client of this machine has begun. */
export interface LocalLogin {
  /** For the browser. */
  url: string;
  /** Proves that it was begun there; good once. */
  code: string;
  /** Seconds. */
  expires_in: number;
}

/** A session that an agent or a client of this machine is to keep. */
export interface SessionToKeep {
  code: string;
  provider: string;
  session: string;
}
