import type { Logger } from '@belay/program';
import type { LocalConfiguration } from './configuration.js';
import type { PublicKey } from './statement.js';

/** The owner of a session, as the server reported when it was stored. */
export interface LocalPerson {
  email: string;
  name: string;
  groups: string[];
  provider: string;
}

/** A session as an agent or a client stores it. */
export interface KeptSession {
  provider: string;
  version: number;
  /** ISO 8601, by the server's clock. */
  expiry: string;
  /** Encrypted for the server; this machine cannot read it. */
  session: string;
  person: LocalPerson;
  /** The token of the login that the session belongs to, when the sign-in happened here; it requests the next version of the session. */
  token?: string | undefined;
  storedAt: string;
}

/**
 * Port of docs/architecture.md, section 3. When `put`, `remove` and `replace` resolve, the change is on the disk. All of them throw
 * `unavailable`, and then nothing changed.
 */
export interface SessionStore {
  all(): KeptSession[];
  put(session: KeptSession): Promise<void>;
  /** Resolves to false when there was no session. */
  remove(provider: string): Promise<boolean>;
  /**
   * Replaces this session, one of `all()`, with `next`, or removes it. Resolves to false, without a change, when the session was removed or
   * replaced in the meantime.
   */
  replace(kept: KeptSession, next: KeptSession | undefined): Promise<boolean>;
  /** Returns the state in a word or a sentence; begins with `healthy` when the store is healthy. */
  health(): string;
}

export interface LocalLogEntry {
  timestamp: string;
  level: 'info' | 'warning' | 'error';
  message: string;
  provider: string;
  user: string;
  /** The same person as `user`: on a person's own machine, no action is for another person. */
  owner: string;
  workflow_id: string;
  type: string;
}

/** Port of docs/architecture.md, section 3: the newest 500 entries, in memory. */
export interface LocalLedger {
  append(entry: {
    level?: LocalLogEntry['level'];
    type: string;
    message: string;
    provider?: string;
    user?: string;
  }): void;
  /** Newest first. */
  entries(): LocalLogEntry[];
}

/** Port of docs/architecture.md, section 3: the configuration in force on this machine. */
export interface ConfigurationSource {
  current(): LocalConfiguration | undefined;
  /** When the server last confirmed that this configuration is in force; undefined when it has not since the start. */
  confirmedAt(): Date | undefined;
  /** When the server sent it. */
  receivedAt(): Date | undefined;
  /** Returns whether the server responds, in a sentence; begins with `reachable` when it does. */
  server(): string;
  key(): PublicKey | undefined;
}

export interface ExchangedSession {
  token: string;
  person: LocalPerson;
  session: { version: number; expiry: string; session: string };
}

/**
 * Port of docs/architecture.md, section 3: the calls to the server. Every method throws `unavailable` when the server cannot be reached.
 */
export interface Upstream {
  exchange(input: { code: string; codeVerifier: string }): Promise<ExchangedSession>;
  /** Returns the contents of a session token. Throws `invalid` or `unauthenticated`. */
  verify(session: string): Promise<{ provider: string; version: number; expiry: string; person: LocalPerson }>;
}

/** The sign-ins that were started here and are not complete. */
export interface LocalLogins {
  /** Starts a sign-in; returns the address for the browser, and the code that proves to `POST /sessions` that it started here. */
  begin(input: { provider?: string | undefined; callback?: string | undefined }): {
    url: string;
    code: string;
    expiresIn: number;
  };
  /** Uses up a verification code; `restore` makes it valid again. Throws `forbidden` for a code that is not valid for this provider. */
  take(code: string, provider: string): { restore(): void };
  /** Uses up the secret of a return address; returns undefined for an unknown one. */
  takeReturn(
    secret: string,
  ): { codeVerifier: string; provider: string | undefined; callback: string | undefined } | undefined;
}

/** The context of the verbs of agent and client mode. */
export interface LocalContext {
  mode: 'agent' | 'client';
  configuration: ConfigurationSource;
  sessions: SessionStore;
  ledger: LocalLedger;
  upstream: Upstream;
  logins: LocalLogins;
  log: Logger;
  /** This machine's clock. */
  clock(): Date;
  /** How far this clock is ahead of the server's, in milliseconds; 0 while that is not known. */
  skew(): number;
  program: { version: string; revision: string; baseUrl: string; server: string };
}
