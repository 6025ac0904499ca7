import { createHmac, timingSafeEqual } from 'node:crypto';
import { foldAddress } from '@belay/contract/address';
import { z } from 'zod';
import { refuseWhenAborted, untilAborted } from '../abort.js';
import { LeftToOthers, OtherTarget, Pending, Retryable, Terminal } from '../errors.js';
import type { Notifications } from '../notifications.js';
import type {
  Access,
  AccessRequest,
  Authorizer,
  Entitlement,
  Person,
  Plan,
  PlanIssue,
  ProviderIdentity,
  ReadyConnector,
} from '../port.js';
import { mostListed } from '../port.js';
import { searchIdentities } from '../search-identities.js';
import { createMemoryProvider, type MemoryCall, type MemoryProvider, type Operation } from './provider.js';

const memoryConfig = z.strictObject({
  address: z.string().optional(),
  /** The provider ends access by itself. */
  expiry: z.strictObject({ minimum: z.string().optional(), step: z.string().optional() }).optional(),
  /** Roles whose members are all listed, also those that Belay did not add. */
  exclusive: z.array(z.string()).optional(),
  /**
   * The degrees of a role, as in `push on shop`: a person has one of them in the slot `shop` at a time. A role without
   * ` on ` has no degree.
   */
  degrees: z.array(z.string()).optional(),
  /** How a person maps to an identity: by e-mail address, or by the subject of a linked sign-in at the named provider. */
  identity: z.union([z.literal('email'), z.strictObject({ login: z.string() })]).optional(),
  residual: z.string().optional(),
  /** A call that returned cannot take effect later: a provider without faults of that kind. */
  never_late: z.boolean().optional(),
  /** Revokes only access with the mark of its entitlement. */
  marks: z.boolean().optional(),
  /** The secret that signs requests at the hook; without it, messages have no buttons. */
  hook_secret: z.string().optional(),
  /** Which verdicts a button in a message can give; both by default, when there is a secret. */
  verdicts: z.array(z.enum(['approve', 'deny'])).optional(),
  /** How long access can outlive its revocation, for each role. */
  residuals: z.record(z.string(), z.string()).optional(),
});
export type MemoryConfig = z.infer<typeof memoryConfig>;

/**
 * Returns a connector to a provider in this process: to `state`, or by default to an empty provider that lives as long as the
 * connector. All configured providers of one connector share this state. Not for production.
 */
export function createMemoryConnector(state: MemoryProvider = unheldProvider()): ReadyConnector<MemoryConfig> {
  const people = (signal: AbortSignal) =>
    perform(state, { operation: 'identities' }, signal, () => state.options.people ?? []);
  return {
    type: 'memory',
    description: 'A provider in memory, for tests and benchmarks',
    capabilities: ['authorizer', 'identities', 'notifications'],
    config: memoryConfig,
    plan: (_config, request) => planAccesses(request),
    address: ({ address }) => address ?? 'memory',
    expiry: ({ expiry }) => expiry && { native: true, ...withoutUndefined(expiry) },
    verdicts: ({ hook_secret: secret, verdicts = ['approve', 'deny'] }) => (secret === undefined ? [] : verdicts),
    create: (config) => ({
      authorizer: createAuthorizer(state, config),
      identities: {
        ...(typeof config.identity === 'object' ? { byLogin: true } : {}),
        list: async (signal) => (await people(signal)).slice(0, mostListed),
        get: async (id, signal) => (await people(signal)).find((one) => one.id === id) ?? null,
        search: async (text, limit, signal) => searchIdentities(await people(signal), text, limit),
        find: (person, signal) =>
          perform(state, { operation: 'identities' }, signal, () => findPerson(state, config, person)),
      },
      notifications: {
        deliver: (message, signal) =>
          perform(state, { operation: 'deliver' }, signal, () => {
            state.accept(message);
            return { key: message.idempotencyKey };
          }),
        find: ({ idempotencyKey: key }, signal) =>
          perform(state, { operation: 'find' }, signal, () =>
            state.messages.some(({ idempotencyKey }) => idempotencyKey === key) ? { key } : null,
          ),
        revise: (receipt, message, signal) =>
          perform(state, { operation: 'revise' }, signal, () => state.replace(String(receipt.key), message)),
        ...(config.hook_secret === undefined ? {} : { receive: receiveWith(state, config.hook_secret) }),
      },
      check: (signal) => perform(state, { operation: 'check' }, signal, () => undefined),
      close: async () => {},
    }),
  };
}

const click = z.object({
  token: z.string(),
  subject: z.string(),
  email: z.string().optional(),
  /** The key of the message that has the button. */
  message: z.string().optional(),
});

/** Returns the headers that sign a request at a hook: its time, and the signature of time and body. */
export function signHook(secret: string, at: Date, body: string): { 'x-time': string; 'x-signature': string } {
  const time = at.toISOString();
  const signature = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex');
  return { 'x-time': time, 'x-signature': signature };
}

/** Returns the handler of clicks, which must be signed and at most five minutes old. */
function receiveWith(state: MemoryProvider, secret: string): NonNullable<Notifications['receive']> {
  return async ({ headers, body }, now) => {
    const at = new Date(headers['x-time'] ?? '');
    const text = Buffer.from(body).toString();
    const expected = Number.isNaN(at.getTime()) ? '' : signHook(secret, at, text)['x-signature'];
    const given = headers['x-signature'] ?? '';
    const isSigned = expected.length === given.length && timingSafeEqual(Buffer.from(expected), Buffer.from(given));
    if (expected === '' || !isSigned) throw new Terminal('The request is not signed');
    if (Math.abs(now.getTime() - at.getTime()) > 5 * 60_000) throw new Terminal('The request is too old');
    const { token, message, ...actor } = click.parse(JSON.parse(text));
    return {
      reply: { ok: true },
      decision: {
        token,
        ...(message === undefined ? {} : { receipt: { key: message } }),
        actor: (signal) =>
          perform(state, { operation: 'actor' }, signal, () => ({
            subject: actor.subject,
            ...(actor.email === undefined ? {} : { email: actor.email }),
          })),
        tell: async (told) => void state.whispers.push({ subject: actor.subject, text: told }),
      },
    };
  };
}

/** Returns a provider for a connector without `state`. It delays nothing, so its clock can stand still. */
function unheldProvider(): MemoryProvider {
  return createMemoryProvider({ now: () => new Date(0) });
}

function createAuthorizer(state: MemoryProvider, config: MemoryConfig): Authorizer {
  const { address = 'memory', residuals = {}, residual = 'PT0S', exclusive = [], degrees = [] } = config;
  const target = () => state.targets.get(address) ?? address;
  const degreeOf = ({ role }: Access) => splitRole(degrees, role)?.degree;
  /** The access that a pin leads to: without its degree, where it has one. */
  const slotOf = (access: Access): Access => {
    const parts = splitRole(degrees, access.role);
    return parts ? { role: parts.slot } : access;
  };
  const pinOf = (identity: string, access: Access) => ({
    target: target(),
    subject: { identity, access: slotOf(access) },
  });
  /** Returns the identity and the access of a pin; of a slot, the access in the degree that is held now. */
  const subjectOf = ({ pin }: Entitlement) => {
    if (pin.target !== target()) throw new OtherTarget();
    const { identity, access } = memorySubject.parse(pin.subject);
    const isInSlot = (one: { identity: string; access: Access }) =>
      one.identity === identity && sameAccess(slotOf(one.access), access);
    const inSlot = degrees.length === 0 ? undefined : state.held().find(isInSlot);
    return { identity, access: inSlot?.access ?? access };
  };
  const isExclusive = ({ role }: Access) => typeof role === 'string' && exclusive.includes(role);
  return {
    residual,
    residualOf: ({ role }) => residuals[String(role)] ?? residual,
    knows: true,
    neverLate: config.never_late === true,
    ...(degrees.length > 0 ? { degreeOf } : {}),
    target: (signal) => perform(state, { operation: 'target' }, signal, target),
    pin: ({ identity, access }, signal) =>
      perform(state, { operation: 'pin', identity, access }, signal, () => {
        const identifier = state.identifierOf(identity);
        return identifier !== undefined && isKnown(state, identifier, access.role) ? pinOf(identifier, access) : null;
      }),
    /** Roles with one `arn` are one thing with several names. */
    async aliases(pin) {
      const { role } = memorySubject.parse(pin.subject).access;
      const { roles = [] } = state.options;
      const arn = roles.find(({ name }) => name === role)?.arn;
      return roles.filter((one) => one.arn === arn).map(({ name }) => name);
    },
    async holds(entitlement, signal) {
      const { identity, access } = subjectOf(entitlement);
      return perform(state, { operation: 'holds', identity, access }, signal, () =>
        isUnderWay(state, identity, access) ? 'changing' : state.holds(identity, access),
      );
    },
    async ensurePresent(entitlement, until, signal) {
      const { name } = entitlement;
      const { identity, access: held } = subjectOf(entitlement);
      const access = degreeOf(name.access) === undefined ? held : name.access;
      const call = { operation: 'ensurePresent', identity, access } as const;
      await perform(
        state,
        call,
        signal,
        () => {
          const before = subjectOf(entitlement).access;
          if (!sameAccess(before, access)) state.remove(identity, before);
          grant(state, { identity, access, id: entitlement.id, until: config.expiry ? until : undefined });
        },
        () => refuseUnknown(state, identity, access.role),
      );
    },
    async ensureAbsent(entitlement, signal) {
      const { identity, access } = subjectOf(entitlement);
      await perform(state, { operation: 'ensureAbsent', identity, access }, signal, () => {
        const held = state.held().find((one) => one.identity === identity && sameAccess(one.access, access));
        if (config.marks && held && held.id !== entitlement.id)
          throw new LeftToOthers(`The access was given by others${held.id && ` (${held.id})`}`);
        state.remove(identity, subjectOf(entitlement).access);
      });
    },
    async *list(signal) {
      const held = await perform(state, { operation: 'list' }, signal, () => state.held());
      for (const { id, identity, access } of held) {
        if (id !== '' || isExclusive(access)) yield { id, identity, access, pin: pinOf(identity, access) };
      }
    },
    roles: (signal) => perform(state, { operation: 'roles' }, signal, () => state.options.roles ?? []),
    permissions: (signal) => perform(state, { operation: 'permissions' }, signal, () => []),
  };
}

/** Returns the degree and the slot of a role; undefined for a role that has no degree. */
function splitRole(degrees: readonly string[], role: unknown): { slot: string; degree: string } | undefined {
  const [, degree = '', slot = ''] = /^(\S+) on (.+)$/s.exec(String(role)) ?? [];
  return degrees.includes(degree) ? { slot, degree } : undefined;
}

/** Grants access, or extends access that is held; never shortens it. */
function grant(
  state: MemoryProvider,
  { identity, access, id, until }: { identity: string; access: Access; id: string; until: Date | undefined },
): void {
  const held = state.held().find((one) => one.identity === identity && sameAccess(one.access, access));
  if (held && (until === undefined || held.until === undefined || held.until >= until)) return;
  state.put(identity, access, held?.id ?? id, until);
}

function sameAccess(one: Access, other: Access): boolean {
  const text = (access: Access) => JSON.stringify(Object.entries(access).sort(([a], [b]) => (a < b ? -1 : 1)));
  return text(one) === text(other);
}

function isUnderWay(state: MemoryProvider, identity: string, access: Access): boolean {
  return ['grant', 'revoke'].includes(state.operation(identity, access, { peek: true }) ?? '');
}

function withoutUndefined({ minimum, step }: { minimum?: string | undefined; step?: string | undefined }) {
  return { ...(minimum === undefined ? {} : { minimum }), ...(step === undefined ? {} : { step }) };
}

/** Performs `change`, with the fault that was injected for this call (see `MemoryFault`). */
async function perform<T>(
  state: MemoryProvider,
  call: Omit<MemoryCall, 'at'>,
  signal: AbortSignal,
  change: () => T,
  refuse: () => void = () => {},
): Promise<T> {
  refuseWhenAborted(signal);
  const fault = state.take(call);
  if (state.down) throw new Retryable('The provider does not answer');
  if (fault?.kind === 'throttle') {
    const wish = fault.afterMilliseconds === undefined ? {} : { afterMilliseconds: fault.afterMilliseconds };
    throw new Retryable('The provider asks for patience', wish);
  }
  if (fault?.kind === 'conflict') throw new Retryable('The provider was being changed by someone else');
  if (fault?.kind === 'unreachable') {
    const cause = Object.assign(new Error('connect ECONNREFUSED 192.0.2.1:443'), { code: 'ECONNREFUSED' });
    throw new Error('fetch failed', { cause });
  }
  if (fault?.kind === 'refuse') throw new Terminal('The provider rejects the change');
  if (fault?.kind === 'unknown') return 'unknown' as T;
  if (fault?.kind === 'hang') return untilAborted(new Promise<never>(() => {}), signal);
  refuse();
  waitForOperation(state, call);
  const work = fault?.kind === 'operation' ? fault : fault ? undefined : worksOn(state, call);
  if (work) throw beginOperation(state, call, work, change);
  if (fault?.kind === 'late') {
    state.later(fault.delayMilliseconds, change);
    throw new Retryable('The provider did not respond in time');
  }
  if (fault?.kind === 'asynchronous') {
    state.later(fault.delayMilliseconds, change);
    return undefined as T;
  }
  if (fault?.kind === 'fails-later') return undefined as T;
  const result = change();
  if (fault?.kind === 'lost-answer') throw new Retryable('The answer of the provider was lost');
  return result;
}

/** Throws `Pending` for a change while an operation is in progress, and `Terminal` once after a grant has failed. */
function waitForOperation(state: MemoryProvider, { operation, identity, access }: Omit<MemoryCall, 'at'>): void {
  if (!identity || !access || !['ensurePresent', 'ensureAbsent'].includes(operation)) return;
  const under = state.operation(identity, access);
  if (under === 'grant' || under === 'revoke') throw new Pending('The provider is still working on it');
  if (under === 'failed' && operation === 'ensurePresent') throw new Terminal('The provider could not grant it');
}

/** Returns the operation with which the provider makes a change; undefined when it makes the change at once. */
function worksOn(state: MemoryProvider, { operation, identity, access }: Omit<MemoryCall, 'at'>) {
  const task = taskOf(operation);
  if (!task || !identity || !access || state.holds(identity, access) === (task === 'grant')) return undefined;
  return state.options.works?.({ task, identity });
}

function taskOf(operation: MemoryCall['operation']): Operation['task'] | undefined {
  if (operation === 'ensurePresent') return 'grant';
  return operation === 'ensureAbsent' ? 'revoke' : undefined;
}

function beginOperation(
  state: MemoryProvider,
  { operation, identity = '', access = {} }: Omit<MemoryCall, 'at'>,
  { delayMilliseconds, fails = false }: { delayMilliseconds: number; fails?: boolean },
  change: () => void,
): Pending {
  const task = taskOf(operation) ?? 'grant';
  const at = state.options.now().getTime() + delayMilliseconds;
  state.begin(identity, access, { task, at, fails, change });
  return new Pending('The provider has begun and is working on it');
}

/** The identifier of the identity, which a rename does not change, and the access. */
const memorySubject = z.object({ identity: z.string(), access: z.record(z.string(), z.json()) });

function isKnown(state: MemoryProvider, identity: string, role: unknown): boolean {
  const { people, roles } = state.options;
  if (people && !people.some(({ id }) => id === identity)) return false;
  return !roles || role === undefined || roles.some(({ name }) => name === role);
}

function refuseUnknown(state: MemoryProvider, identity: string, role: unknown): void {
  const { people, roles } = state.options;
  if (people && !people.some(({ id }) => id === identity)) throw new Terminal('The provider has no such identity');
  if (roles && role !== undefined && !roles.some(({ name }) => name === role)) {
    throw new Terminal('The provider has no such role');
  }
}

function findPerson(
  state: MemoryProvider,
  { identity }: MemoryConfig,
  { email, name, logins }: Person,
): ProviderIdentity | null {
  const { people } = state.options;
  if (typeof identity === 'object') {
    const login = logins?.find(({ provider }) => provider === identity.login);
    if (!login) return null;
    return people ? (people.find(({ id }) => id === login.subject) ?? null) : { id: login.subject, name, email };
  }
  if (!people) return { id: email, name, email };
  const address = foldAddress(email);
  const found = people.filter((one) => address !== undefined && foldAddress(one.email) === address);
  return found.length === 1 ? (found[0] ?? null) : null;
}

/** Returns one access for each role and each permission that is not denied. Rejects resources, which this provider does not have. */
function planAccesses(request: AccessRequest): Plan {
  const issues: PlanIssue[] = [];
  const nameless = (path: string, names: string[]) =>
    names.forEach((name, index) => {
      if (name.trim() === '') issues.push({ path: `${path}[${index}]`, message: 'is empty' });
    });
  nameless('inherits', request.roles);
  nameless('permissions.allow', request.permissions.allow);
  for (const list of ['allow', 'deny'] as const) {
    request.resources[list].forEach((_, index) => {
      issues.push({ path: `resources.${list}[${index}]`, message: 'the memory provider has no resources' });
    });
  }
  const permissions = request.permissions.allow.filter((one) => !request.permissions.deny.includes(one));
  if (request.roles.length + permissions.length === 0) {
    issues.push({ path: 'inherits', message: 'asks for nothing at the provider' });
  }
  if (issues.length > 0) return { ok: false, issues };
  const roles = [...new Set(request.roles)].map((role) => ({ role }));
  return { ok: true, accesses: [...roles, ...[...new Set(permissions)].map((permission) => ({ permission }))] };
}
