import type { Logger } from '@belay/program';
import type { LocalConfiguration } from './configuration.js';
import type { PublicKey } from './statement.js';

/** Who a session belongs to, as the server said when it was stored. */
export interface LocalPerson {
  email: string;
  name: string;
  groups: string[];
  provider: string;
}

/** A session as an agent or a client keeps it. */
export interface KeptSession {
  provider: string;
  version: number;
  /** ISO 8601, by the server's clock. */
  expiry: string;
  /** Encrypted for the server; nothing here can read it. */
  session: string;
  person: LocalPerson;
  /**
   * The login that it belongs to, when the sign-in was made here; the next version of the session is requested with it.
   */
  token?: string | undefined;
  storedAt: string;
}

/**
 * Port of docs/architecture.md, section 3. What `put`, `remove` and `replace` resolve for has reached the disk. All
 * throw `unavailable`, and then nothing changed.
 */
export interface SessionStore {
  all(): KeptSession[];
  put(session: KeptSession): Promise<void>;
  /** False when there was none. */
  remove(provider: string): Promise<boolean>;
  /**
   * Puts `next` in the place of this very session, one of `all()`, or removes it; false, and nothing changed, when it
   * was removed or replaced since.
   */
  replace(kept: KeptSession, next: KeptSession | undefined): Promise<boolean>;
  /** How it is, in a word or a sentence; begins with `healthy` when it is. */
  health(): string;
}

export interface LocalLogEntry {
  timestamp: string;
  level: 'info' | 'warning' | 'error';
  message: string;
  provider: string;
  user: string;
  /** The same: on a person's own machine nothing is done for another. */
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

/** Port of docs/architecture.md, section 3: the configuration in force here. */
export interface ConfigurationSource {
  current(): LocalConfiguration | undefined;
  /** When the server last said that this is the one in force; undefined for never since the start. */
  confirmedAt(): Date | undefined;
  /** When the server gave it. */
  receivedAt(): Date | undefined;
  /** Whether the server answers, in a sentence; begins with `reachable` when it does. */
  server(): string;
  key(): PublicKey | undefined;
}

export interface ExchangedSession {
  token: string;
  person: LocalPerson;
  session: { version: number; expiry: string; session: string };
}

/**
 * Port of docs/architecture.md, section 3: the calls of the server. Every method throws `unavailable` when it cannot be
 * reached.
 */
export interface Upstream {
  exchange(input: { code: string; codeVerifier: string }): Promise<ExchangedSession>;
  /** What a session token is worth. Throws `invalid` or `unauthenticated`. */
  verify(session: string): Promise<{ provider: string; version: number; expiry: string; person: LocalPerson }>;
}

/** A sign-in that was begun here and has not come back. */
export interface LocalLogins {
  /** Where to send the browser, and what proves to `POST /sessions` that it was begun here. */
  begin(input: { provider?: string | undefined; callback?: string | undefined }): {
    url: string;
    code: string;
    expiresIn: number;
  };
  /**
   * Uses a verification code up; `restore` makes it good again. Throws `forbidden` for one that is not good for this.
   */
  take(code: string, provider: string): { restore(): void };
  /** Uses the secret of a return address up; undefined for one that is not known. */
  takeReturn(
    secret: string,
  ): { codeVerifier: string; provider: string | undefined; callback: string | undefined } | undefined;
}

/** Everything that the verbs of agent and client mode work with. */
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
  /** How far it is ahead of the server's, in milliseconds; 0 while that is not known. */
  skew(): number;
  program: { version: string; revision: string; baseUrl: string; server: string };
}
