import type { Message } from '../notifications.js';
import type { Access, ProviderIdentity, ProviderRole } from '../port.js';

export type MemoryOperation =
  | 'target'
  | 'pin'
  | 'holds'
  | 'ensurePresent'
  | 'ensureAbsent'
  | 'list'
  | 'roles'
  | 'permissions'
  | 'identities'
  | 'deliver'
  | 'find'
  | 'revise'
  | 'actor'
  | 'check';

/**
 * What can go wrong with one call.
 * - `throttle`, `conflict`: `Retryable`, and nothing changes; `refuse`: `Terminal`, and nothing changes.
 * - `hang`: the call does not return until the signal aborts, and nothing changes.
 * - `unknown`: a call of `holds` returns `unknown`.
 * - `lost-answer`: the change happens, but the call fails.
 * - `unreachable`: nothing changes, and the connector throws the error of the connection as it is.
 * - `late`: the call fails now, and the change happens `delayMilliseconds` later.
 * - `asynchronous`: the call succeeds now, and the change happens `delayMilliseconds` later.
 * - `fails-later`: the call succeeds now, and the change never happens.
 * - `operation`: the call throws `Pending`; `delayMilliseconds` later the change happens or, with `fails`, does not.
 *   Until then `holds` returns `changing`.
 */
export type MemoryFault =
  | { kind: 'throttle'; afterMilliseconds?: number }
  | { kind: 'conflict' | 'refuse' | 'hang' | 'unknown' | 'lost-answer' | 'fails-later' | 'unreachable' }
  | { kind: 'late' | 'asynchronous'; delayMilliseconds: number }
  | { kind: 'operation'; delayMilliseconds: number; fails?: true };

export interface MemoryCall {
  operation: MemoryOperation;
  at: Date;
  identity?: string;
  access?: Access;
}

export interface MemoryProviderOptions {
  /** The provider's own clock, by which late and asynchronous changes happen. */
  now: () => Date;
  /** The people who have an account; when absent, every person has one under their e-mail address. */
  people?: ProviderIdentity[];
  /** The roles that exist; when absent, every requested role exists. */
  roles?: ProviderRole[];
  /** Returns the operation with which a change without a fault is made; when absent or undefined, it is made at once. */
  works?: (change: MemoryChange) => { delayMilliseconds: number; fails?: true } | undefined;
}

export interface MemoryChange {
  task: Operation['task'];
  identity: string;
}

interface Entry {
  id: string;
  identity: string;
  access: Access;
  /** When the provider ends the access by itself; never when absent. */
  until?: Date;
}

/** A change that the provider has accepted and not finished. */
export interface Operation {
  task: 'grant' | 'revoke';
  at: number;
  fails: boolean;
  change: () => void;
}

/** The provider as its test sees it: what is held, which calls were made, and which faults are injected. */
export interface MemoryProvider {
  readonly options: MemoryProviderOptions;
  /** When true, every call throws `Retryable`. */
  down: boolean;
  /** The target of each address; an address that is not listed is its own target. */
  readonly targets: Map<string, string>;
  /** The latest calls, oldest first (the last 10 000 at least); `count` counts them all. */
  readonly calls: readonly MemoryCall[];
  count(operation?: MemoryOperation): number;
  /** Makes the next `times` calls (1 by default) of `operation` meet this fault; faults queue up. */
  inject(operation: MemoryOperation, fault: MemoryFault, times?: number): void;
  /** Returns what is held now, including late changes whose time has come. */
  held(): Entry[];
  holds(identity: string, access: Access): boolean;
  /** Adds access without the connector, as an administrator would. `id` is the mark of an entitlement of ours; by default no mark. */
  put(identity: string, access: Access, id?: string, until?: Date): void;
  remove(identity: string, access: Access): void;
  /** Renames an identity, which keeps its access. */
  rename(from: string, to: string): void;
  /** Returns the identifier of a name, which a rename does not change; undefined for a name that is no longer in use. */
  identifierOf(name: string): string | undefined;
  /** Makes all late changes and operations happen now. */
  land(): void;
  /** Ends the operation that is in progress without a result. */
  cancel(identity: string, access: Access): void;
  /** Ends the operation that is in progress as failed. */
  fail(identity: string, access: Access): void;
  /** The delivered messages, one for each idempotency key, as last revised. */
  readonly messages: readonly Message[];
  /** The texts that were sent to people who clicked. */
  readonly whispers: { subject: string; text: string }[];
  /** For the connector: records a call and returns the fault that it meets. */
  take(call: Omit<MemoryCall, 'at'>): MemoryFault | undefined;
  /** For the connector: makes a change happen after the delay. */
  later(delayMilliseconds: number, change: () => void): void;
  /** For the connector: begins an operation, which the clock ends. */
  begin(identity: string, access: Access, operation: Operation): void;
  /** For the connector: returns the task in progress, or `failed` once after a grant failed. With `peek`, never `failed`. */
  operation(identity: string, access: Access, how?: { peek: true }): Operation['task'] | 'failed' | undefined;
  /** For the connector: stores a message unless one with its key is stored. */
  accept(message: Message): void;
  /** For the connector: replaces the message with this key. */
  replace(key: string, message: Message): void;
}

const mostCalls = 10_000;

export function createMemoryProvider(options: MemoryProviderOptions): MemoryProvider {
  const held = new Map<string, Entry>();
  const operations = new Map<string, Operation>();
  const failed = new Set<string>();
  const names = new Map<string, string | undefined>();
  const faults = new Map<MemoryOperation, MemoryFault[]>();
  const counts = new Map<MemoryOperation, number>();
  const messages = new Map<string, Message>();
  let calls: MemoryCall[] = [];
  let pending: { at: number; change: () => void }[] = [];

  /** A revocation that failed needs no report: the access is still held. */
  const end = (key: string, { task, fails, change }: Operation) => {
    operations.delete(key);
    if (!fails) change();
    else if (task === 'grant') failed.add(key);
  };
  const settle = (until: number) => {
    const due = pending.filter(({ at }) => at <= until);
    pending = pending.filter(({ at }) => at > until);
    for (const { change } of due.sort((a, b) => a.at - b.at)) change();
    for (const [key, operation] of operations) if (operation.at <= until) end(key, operation);
  };
  const current = () => {
    const now = options.now().getTime();
    settle(now);
    for (const [key, { until }] of held) if (until && until.getTime() <= now) held.delete(key);
    return held;
  };

  return {
    options,
    down: false,
    whispers: [],
    targets: new Map(),
    get calls() {
      return calls;
    },
    count: (operation) => (operation ? (counts.get(operation) ?? 0) : [...counts.values()].reduce((a, b) => a + b, 0)),
    inject(operation, fault, times = 1) {
      faults.set(operation, [...(faults.get(operation) ?? []), ...Array.from({ length: times }, () => fault)]);
    },
    held: () => [...current().values()],
    holds: (identity, access) => current().has(keyOf(identity, access)),
    put(identity, access, id = '', until) {
      current().set(keyOf(identity, access), { id, identity, access, ...(until === undefined ? {} : { until }) });
    },
    remove: (identity, access) => void current().delete(keyOf(identity, access)),
    rename(from, to) {
      names.set(to, names.has(from) ? names.get(from) : from);
      names.set(from, undefined);
    },
    identifierOf: (name) => (names.has(name) ? names.get(name) : name),
    land: () => settle(Number.POSITIVE_INFINITY),
    cancel: (identity, access) => void operations.delete(keyOf(identity, access)),
    fail(identity, access) {
      const key = keyOf(identity, access);
      const operation = operations.get(key);
      if (operation) end(key, { ...operation, fails: true });
    },
    get messages() {
      return [...messages.values()];
    },
    take(call) {
      counts.set(call.operation, (counts.get(call.operation) ?? 0) + 1);
      if (calls.length >= 2 * mostCalls) calls = calls.slice(-mostCalls);
      calls.push({ ...call, at: options.now() });
      return faults.get(call.operation)?.shift();
    },
    later(delayMilliseconds, change) {
      pending.push({ at: options.now().getTime() + delayMilliseconds, change });
    },
    begin: (identity, access, operation) => void operations.set(keyOf(identity, access), operation),
    operation(identity, access, how) {
      current();
      const key = keyOf(identity, access);
      return !how && failed.delete(key) ? 'failed' : operations.get(key)?.task;
    },
    accept(message) {
      if (!messages.has(message.idempotencyKey)) messages.set(message.idempotencyKey, message);
    },
    replace: (key, message) => void messages.set(key, message),
  };
}

function keyOf(identity: string, access: Access): string {
  return JSON.stringify([identity, Object.entries(access).sort(([a], [b]) => (a < b ? -1 : 1))]);
}
