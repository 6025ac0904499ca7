import type { Database } from '@belay/db';
import type { Host, Logger, Waker } from '@belay/engine';
import type { ProviderClient } from '@belay/providers';
import type { Evaluate } from '@belay/workflow';
import type { Catalog } from './configuration/catalog.js';
import type { Keyring } from './keyring.js';
import type { ModelSuggester } from './suggester.js';
import type { Timing } from './timing.js';

export type { Bulkhead, Job, Logger, Place, Waker } from '@belay/engine';

/** A person as described by one of their providers: `id` is ours, the rest comes from that provider. */
export interface Person {
  id: string;
  email: string;
  name: string;
  groups: string[];
  provider: string;
  subject: string;
}

/** A person who has signed in. */
export interface UserActor extends Person {
  kind: 'user';
  loginId: string;
  /** The kind of that login; absent when the person acts without one, as by a button in a message. */
  by?: 'browser' | 'device' | 'token';
  /** The data from their provider is older than allowed, and the provider could not be reached. */
  stale?: true;
}

/** The caller of a verb. Recorded in every ledger row (docs/architecture.md, section 9). */
export type Actor =
  | UserActor
  /** An agent, by the credential that an operator enrolled it with. */
  | { kind: 'agent'; id: string; name: string }
  | { kind: 'operator'; name: string }
  | { kind: 'system'; name: string };

/** Notifies when something was written about an execution. It may notify too often, and may miss a change. */
export interface Changes {
  /** Calls `wake` after each change of this execution, until the function that it returns is called. */
  subscribe(executionId: string, wake: () => void): () => void;
}

/** The catalog in force in this process, and the clients of its providers. */
export interface CatalogSource {
  current(): Catalog;
  /**
   * Returns the client of a provider, also of a disabled one, whose access is still revoked; undefined when none is
   * ready.
   */
  client(provider: string): ProviderClient | undefined;
}

/** Records durations in seconds. Each method is called after the commit of what it measures. */
export interface Meter {
  /** From the request for approval to the decision that settled it. */
  decided(seconds: number, verdict: 'approved' | 'denied'): void;
  /** From the commit of a grant, before its call, to the verification that the provider holds it. */
  granted(seconds: number): void;
  /** From the end of a grant to the verification that the provider no longer holds it. */
  revoked(seconds: number): void;
}

/** What a verb that only reads and writes rows needs. Operators' commands have nothing more. */
export interface Store {
  db: Database;
  catalog: CatalogSource;
  waker: Waker;
  timing: Timing;
  log: Logger;
  /** Returns a new UUID (version 7, so that ids that are close in time are close in the index). */
  newId(): string;
  randomBytes(size: number): Uint8Array;
  /**
   * The process's own clock, to measure time within the process, and for libraries that read that clock. Stored times
   * are compared with the clock of the database (`readNow`).
   */
  clock(): Date;
  /** Resolves after a time, or rejects when the signal aborts. */
  delay(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /** Marks a point after a commit or a call, at which the crash tests kill the process. Does nothing in production. */
  crashpoint(name: string): void;
  program: { version: string; revision: string; baseUrl: string };
  /** What the engine needs from core: `engineHost`. */
  host: Host;
  /** Notifies of changes to executions; without it watchers poll. */
  changes?: Changes | undefined;
  /** Records durations; without it nothing is measured. */
  meter?: Meter | undefined;
}

/** Everything impure that a verb may use. Composed once per process, at the composition root. */
export interface Context extends Store {
  keyring: Keyring;
  evaluate: Evaluate;
  /** The outbound HTTP client of `call: http`, already limited to the allow-list (docs/architecture.md, section 9). */
  fetch(request: Request): Promise<Response>;
  /** The language model of `services.llm`; without one only the lexical matcher suggests. */
  suggester?: ModelSuggester | undefined;
  /** The health of the service of `services.encryption`; absent with the local keyring. */
  encryption?: { health(): Promise<string> } | undefined;
  /** How many providers would not grant a role of the configuration; absent in processes that do not check this. */
  obstacles?: { count(): number } | undefined;
  /** The vault of `services.vault` that this process has open. */
  vault?: { configured(): boolean; health(): Promise<string> } | undefined;
}

/** A context with the caller in it: the first argument of a verb that needs more than rows. */
export interface ActorContext extends Context {
  actor: Actor;
}

/** A store with the caller in it: the first argument of a verb that only reads and writes rows. */
export interface ActorStore extends Store {
  actor: Actor;
}

export type AgentActor = Extract<Actor, { kind: 'agent' }>;
