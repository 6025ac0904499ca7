import type { HttpClient } from '../http/client.js';
import type { Entitlement, GrantedEntitlement, Held, ListedEntitlement, Named, Pin } from '../port.js';

/** One client for each API of Google, because each has its own address. */
export interface GoogleClients {
  policies: HttpClient;
  iam: HttpClient;
  groups: HttpClient;
  directory: HttpClient;
}

/** Changes and reads one kind of access; each kind has its own shape of the pin's subject. */
export interface KindOfAccess {
  pin(named: Named, signal: AbortSignal): Promise<Pin['subject'] | null>;
  /** Returns the names by which `inherits` can name the access; absent where it has one name. */
  aliases?(pin: Pin, signal: AbortSignal): Promise<string[]>;
  holds(entitlement: Entitlement, signal: AbortSignal): Promise<Held>;
  ensurePresent(entitlement: GrantedEntitlement, until: Date, signal: AbortSignal): Promise<void>;
  ensureAbsent(entitlement: Entitlement, signal: AbortSignal): Promise<void>;
  /** Yields the entitlements for the drift audit, with their pins. */
  list(signal: AbortSignal): AsyncIterable<ListedEntitlement>;
}

/** Identifiers of projects, accounts and groups are unique at Google, so all of Google is one target. */
export const target = 'googleapis.com';
