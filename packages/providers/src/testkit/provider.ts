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
 * - `throttle`, `conflict`: retryable, nothing happened; `refuse`: terminal, nothing happened.
 * - `hang`: answers nothing until the signal says stop; nothing happened.
 * - `unknown`: `holds` always returns `unknown`.
 * - `lost-answer`: it happened, and the call failed all the same.
 * - `unreachable`: nothing happened, and the connector reports the error of the connection as it is.
 * - `late`: the call fails now, and it happens `delayMilliseconds` later.
 * - `asynchronous`: the call succeeds now, and it happens `delayMilliseconds` later.
 * - `fails-later`: the call succeeds now, and it never happens.
 * - `operation`: the call is `Pending`, and it happens, or `fails`, `delayMilliseconds` later; until then `holds` is `changing`.
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
  /** The provider's own clock; late and asynchronous changes happen when it has come far enough. */
  now: () => Date;
  /** Who has an account; absent: everyone, by e-mail. */
  people?: ProviderIdentity[];
  /** Which roles there are; absent: every role that is requested. */
  roles?: ProviderRole[];
  /** How it works on a change that meets no fault: as an operation; absent or undefined: at once. */
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
  /** When the provider ends it by itself; absent: never. */
  until?: Date;
}

/** A change that the provider has accepted and not finished. */
export interface Operation {
  task: 'grant' | 'revoke';
  at: number;
  fails: boolean;
  change: () => void;
}

/** The provider out there, as the test that owns it sees it: what is held, what was called, what is to go wrong. */
export interface MemoryProvider {
  readonly options: MemoryProviderOptions;
  /** When true every call is `Retryable`. */
  down: boolean;
  /** Where each address leads; one that is not in it leads to the target `memory`. */
  readonly targets: Map<string, string>;
  /** The latest calls, oldest first (the last 10 000 at least); `count` counts them all. */
  readonly calls: readonly MemoryCall[];
  count(operation?: MemoryOperation): number;
  /** The next `times` (1) calls of `operation` go wrong like this; faults queue up. */
  inject(operation: MemoryOperation, fault: MemoryFault, times?: number): void;
  /** What is held now, late changes included whose time has come. */
  held(): Entry[];
  holds(identity: string, access: Access): boolean;
  /** Edits behind our back. `id` is the mark of an entitlement of ours, when there is to be one. */
  put(identity: string, access: Access, id?: string, until?: Date): void;
  remove(identity: string, access: Access): void;
  /** Gives an identity another name; what it holds stays with it. */
  rename(from: string, to: string): void;
  /** The identifier behind a name, which no rename changes; undefined for a name that is no longer in use. */
  identifierOf(name: string): string | undefined;
  /** Makes everything that is still to happen happen now. */
  land(): void;
  /** Ends the operation that is in progress without a result. */
  cancel(identity: string, access: Access): void;
  /** Ends it as one that failed. */
  fail(identity: string, access: Access): void;
  /** Messages delivered, each idempotency key once, as they were last revised. */
  readonly messages: readonly Message[];
  /** What was said to people who clicked. */
  readonly whispers: { subject: string; text: string }[];
  /** For the connector: notes a call and gives the fault it meets. */
  take(call: Omit<MemoryCall, 'at'>): MemoryFault | undefined;
  /** For the connector: makes a change happen in so many milliseconds. */
  later(delayMilliseconds: number, change: () => void): void;
  /** For the connector: begins an operation, which the clock ends. */
  begin(identity: string, access: Access, operation: Operation): void;
  /** For the connector: what is in progress, or `failed` once after an operation has failed, unless it only peeks. */
  operation(identity: string, access: Access, how?: { peek: true }): Operation['task'] | 'failed' | undefined;
  /** For the connector: keeps a message unless its key has been seen. */
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

  const settle = (until: number) => {
    const due = pending.filter(({ at }) => at <= until);
    pending = pending.filter(({ at }) => at > until);
    for (const { change } of due.sort((a, b) => a.at - b.at)) change();
    for (const [key, { at, fails, change }] of operations) {
      if (at > until) continue;
      operations.delete(key);
      if (fails) failed.add(key);
      else change();
    }
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
      if (operations.delete(key)) failed.add(key);
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
