import type { Database } from '@belay/db';
import type { ProviderClient } from '@belay/providers';
import type { Evaluate } from '@belay/workflow';
import type { Catalog } from './catalog/compile.js';
import type { Changes } from './executions/changes.js';
import type { ModelSuggester } from './suggestions/suggester.js';
import type { Timing } from './timing.js';
import type { Keyring } from './tokens/keyring.js';

/** Who acts. Recorded on every ledger row (design §10). */
export type Actor =
  | {
      kind: 'user';
      id: string;
      email: string;
      name: string;
      groups: string[];
      /** The provider they proved themselves to, and their subject there. */
      provider: string;
      subject: string;
      loginId: string;
      /** What the provider says of them is older than it may be, and the provider could not be asked again. */
      stale?: true;
    }
  /** An agent, by the credential that an operator enrolled it with. */
  | { kind: 'agent'; id: string; name: string }
  | { kind: 'operator'; name: string }
  | { kind: 'system'; name: string };

/** "Look now": an id, never data. Losing one costs the sweeper's latency and nothing else. */
export type Hint =
  | { queue: 'executions'; executionId: string; key: string; dueAt?: Date }
  | { queue: 'entitlements'; entitlementId: string; provider: string; task?: 'grant' | 'revoke'; dueAt?: Date };

/** Where a worker does something: executions share their places, and every provider has its own. */
export type Lane =
  | { queue: 'executions' }
  /** Grants may not take all places of a provider, so that its revocations never wait for them. */
  | { queue: 'entitlements'; provider: string; task?: 'grant' | 'revoke' }
  /** What executions ask of systems, such as a plan of its providers: each system has places of its own for that, too. */
  | { queue: 'calls'; systems: readonly string[] };

/** A free place of a worker in this process, taken for the caller until it runs something there or releases it. */
export interface Place {
  /** Does the work in this place and frees the place afterwards. Returns at once; an error of the work is logged. */
  run(work: () => Promise<void>): void;
  /** Frees the place without work. Does nothing after `run`. */
  release(): void;
  /** Gives the place to others while the work goes on: what is left of it asks nothing of the system. */
  vacate?(): void;
}

/** Sends hints after commit. Never throws and never waits: correctness does not depend on it (design §5.4). */
export interface Waker {
  wake(hints: readonly Hint[]): void;
  /**
   * Takes a free place of a worker in this process, for what the caller is about to claim; null when there is none, or
   * no worker here: then the due row and a hint lead a worker to it.
   */
  reserve?(lane: Lane): Place | null;
  /**
   * Hands work on to another lane, so that the caller can give up its own place. It begins as soon as there is a place, or
   * with `false` when there was none in time. Without a worker in this process it begins at once.
   */
  hand?(lane: Lane, work: (inTime: boolean) => Promise<void>): void;
}

/** The catalog in force in this process, and the clients of its enabled providers. */
export interface CatalogSource {
  current(): Catalog;
  /** The client of an enabled provider, or undefined when it has none that is ready. */
  client(provider: string): ProviderClient | undefined;
}

export interface Logger {
  debug(detail: object, message: string): void;
  info(detail: object, message: string): void;
  warn(detail: object, message: string): void;
  error(detail: object, message: string): void;
}

/** Everything impure that a verb may use. Composed once per process, at the composition root. */
export interface Context {
  db: Database;
  catalog: CatalogSource;
  waker: Waker;
  keyring: Keyring;
  evaluate: Evaluate;
  timing: Timing;
  log: Logger;
  /** A new UUID (version 7, so that neighbours in time are neighbours in the index). */
  newId(): string;
  randomBytes(size: number): Uint8Array;
  /** The process's own clock. The verbs read the database's; this is for libraries that read the process's behind our back. */
  clock(): Date;
  /** Resolves after a time, or rejects when the signal aborts; how the few loops wait. */
  delay(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /** The outbound HTTP client of `call: http`, already fenced by the allow-list (design §10). */
  fetch(request: Request): Promise<Response>;
  /** Named points after each commit, where the crash tests kill the process. Does nothing in production. */
  crashpoint(name: string): void;
  program: { version: string; revision: string; baseUrl: string };
  /** The language model of `services.llm`; without one the lexical matcher suggests alone. */
  suggester?: ModelSuggester | undefined;
  /** How the service of `services.encryption` is; without one the keyring is local, and stands for itself. */
  encryption?: { health(): Promise<string> } | undefined;
  /** Hears of changes to executions; without it those who watch look now and then. */
  changes?: Changes | undefined;
  /** The vault of `services.vault` that this process has open. */
  vault?: { configured(): boolean; health(): Promise<string> } | undefined;
}

/** A context with the caller in it: what every verb takes first. */
export interface ActorContext extends Context {
  actor: Actor;
}

export type UserActor = Extract<Actor, { kind: 'user' }>;
export type AgentActor = Extract<Actor, { kind: 'agent' }>;
