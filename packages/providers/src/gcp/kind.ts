import type { HttpClient } from '../http/client.js';
import type { EntitlementRef, Held, Pin } from '../port.js';

/** Google has an address, and so a client, for each of its APIs. */
export interface GoogleClients {
  policies: HttpClient;
  iam: HttpClient;
  groups: HttpClient;
  directory: HttpClient;
}

/** How one kind of access is changed and read; the pin's subject is of its own shape. */
export interface KindOfAccess {
  pin(entitlement: EntitlementRef, signal: AbortSignal): Promise<Pin['subject'] | null>;
  holds(entitlement: EntitlementRef, signal: AbortSignal): Promise<Held>;
  ensurePresent(entitlement: EntitlementRef, until: Date, signal: AbortSignal): Promise<void>;
  ensureAbsent(entitlement: EntitlementRef, signal: AbortSignal): Promise<void>;
  /** Yields them with their pins. */
  list(signal: AbortSignal): AsyncIterable<EntitlementRef>;
}

/** Identifiers of projects, accounts and groups are unique at Google, so that all of it is one target. */
export const target = 'googleapis.com';
