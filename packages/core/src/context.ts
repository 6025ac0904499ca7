import type { Database } from '@belay/db';
import type { Host, Logger, Waker } from '@belay/engine';
import type { ProviderClient } from '@belay/providers';
import type { Evaluate } from '@belay/workflow';
import type { Catalog } from './configuration/catalog.js';
import type { Keyring } from './keyring.js';
import type { ModelSuggester } from './suggester.js';
import type { Timing } from './timing.js';

export type { Hint, Lane, Logger, Place, Waker } from '@belay/engine';

/** A person as one of their providers vouches for them: `id` is ours, the rest is what that provider says. */
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
  /** What the provider says of them is older than it may be, and the provider could not be asked again. */
  stale?: true;
}

/** Who acts. Recorded on every ledger row (docs/architecture.md, section 9). */
export type Actor =
  | UserActor
  /** An agent, by the credential that an operator enrolled it with. */
  | { kind: 'agent'; id: string; name: string }
  | { kind: 'operator'; name: string }
  | { kind: 'system'; name: string };

/** Says when something was written about an execution. A hint: it may say so too often, and may miss one. */
export interface Changes {
  /** Calls `wake` after each change of this execution, until the function that it returns is called. */
  subscribe(executionId: string, wake: () => void): () => void;
}

/** The catalog in force in this process, and the clients of its enabled providers. */
export interface CatalogSource {
  current(): Catalog;
  /** The client of an enabled provider, or undefined when it has none that is ready. */
  client(provider: string): ProviderClient | undefined;
}

/** Is told of each of these after its commit, with the time that it took, in seconds. */
export interface Meter {
  /** From the moment when approvers were asked to the decision that settled it. */
  decided(seconds: number, verdict: 'approved' | 'denied'): void;
  /** From the moment when a grant was due to the moment when the provider was seen to hold it. */
  granted(seconds: number): void;
  /** From the end of a grant to the moment when the provider was seen not to hold it any more. */
  revoked(seconds: number): void;
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
  /** The outbound HTTP client of `call: http`, already fenced by the allow-list (docs/architecture.md, section 9). */
  fetch(request: Request): Promise<Response>;
  /** Named points after each commit, where the crash tests kill the process. Does nothing in production. */
  crashpoint(name: string): void;
  program: { version: string; revision: string; baseUrl: string };
  /** What the engine asks of core: `engineHost`. */
  host: Host;
  /** The language model of `services.llm`; without one the lexical matcher suggests alone. */
  suggester?: ModelSuggester | undefined;
  /** How the service of `services.encryption` is; without one the keyring is local, and stands for itself. */
  encryption?: { health(): Promise<string> } | undefined;
  /** Hears of changes to executions; without it those who watch look now and then. */
  changes?: Changes | undefined;
  /** Is told how long things took; without it nothing is measured. */
  meter?: Meter | undefined;
  /** The vault of `services.vault` that this process has open. */
  vault?: { configured(): boolean; health(): Promise<string> } | undefined;
}

/** A context with the caller in it: what every verb takes first. */
export interface ActorContext extends Context {
  actor: Actor;
}

export type AgentActor = Extract<Actor, { kind: 'agent' }>;
