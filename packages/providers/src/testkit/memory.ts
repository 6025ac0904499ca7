import { z } from 'zod';
import { refuseWhenAborted, untilAborted } from '../abort.js';
import { isSameAddress } from '../address.js';
import { OtherTarget, Retryable, Terminal } from '../errors.js';
import type {
  AccessRequest,
  Authorizer,
  Connector,
  EntitlementRef,
  Plan,
  PlanIssue,
  ProviderIdentity,
} from '../port.js';
import { createMemoryProvider, type MemoryCall, type MemoryProvider } from './provider.js';

const memoryConfig = z.strictObject({ address: z.string().optional() });
export type MemoryConfig = z.infer<typeof memoryConfig>;

/**
 * A connector to a provider in this process: `state` when a test holds one, otherwise an empty one of its own that
 * lives as long as the connector. All providers of one such connector are the same place. Not for production.
 */
export function createMemoryConnector(state: MemoryProvider = unheldProvider()): Connector<MemoryConfig> {
  return {
    type: 'memory',
    description: 'A provider in memory, for tests and benchmarks',
    capabilities: ['authorizer', 'identities', 'notifications'],
    config: memoryConfig,
    plan: (_config, request) => planAccesses(request),
    address: ({ address }) => address ?? 'memory',
    create: ({ address = 'memory' }) => ({
      authorizer: createAuthorizer(state, address),
      identities: {
        list: (signal) => perform(state, { operation: 'identities' }, signal, () => state.options.people ?? []),
        find: (person, signal) =>
          perform(state, { operation: 'identities' }, signal, () => findPerson(state, person.email, person.name)),
      },
      notifications: {
        deliver: (message, signal) => perform(state, { operation: 'deliver' }, signal, () => state.accept(message)),
      },
      check: (signal) => perform(state, { operation: 'check' }, signal, () => undefined),
      close: async () => {},
    }),
  };
}

/** Nobody delays anything in a provider that no test holds, so its clock may stand still. */
function unheldProvider(): MemoryProvider {
  return createMemoryProvider({ now: () => new Date(0) });
}

function createAuthorizer(state: MemoryProvider, address: string): Authorizer {
  const target = () => state.targets.get(address) ?? 'memory';
  /** What the pin says, where there is one: names are labels. */
  const subjectOf = ({ identity, access, pin }: EntitlementRef) => {
    if (pin && pin.target !== target()) throw new OtherTarget();
    return pin ? memorySubject.parse(pin.subject) : { identity, access };
  };
  return {
    residual: 'PT0S',
    knows: true,
    target: (signal) => perform(state, { operation: 'target' }, signal, target),
    pin: ({ identity, access }, signal) =>
      perform(state, { operation: 'pin', identity, access }, signal, () =>
        isKnown(state, identity, access.role) ? { target: target(), subject: { identity, access } } : null,
      ),
    async holds(entitlement, signal) {
      const { identity, access } = subjectOf(entitlement);
      return perform(state, { operation: 'holds', identity, access }, signal, () => state.holds(identity, access));
    },
    async ensurePresent(entitlement, _until, signal) {
      const { identity, access } = subjectOf(entitlement);
      await perform(
        state,
        { operation: 'ensurePresent', identity, access },
        signal,
        () => state.holds(identity, access) || state.put(identity, access, entitlement.id),
        () => refuseUnknown(state, identity, access.role),
      );
    },
    async ensureAbsent(entitlement, signal) {
      const { identity, access } = subjectOf(entitlement);
      await perform(state, { operation: 'ensureAbsent', identity, access }, signal, () =>
        state.remove(identity, access),
      );
    },
    async *list(signal) {
      yield* await perform(state, { operation: 'list' }, signal, () => state.held().filter(({ id }) => id !== ''));
    },
    roles: (signal) => perform(state, { operation: 'roles' }, signal, () => state.options.roles ?? []),
    permissions: (signal) => perform(state, { operation: 'permissions' }, signal, () => []),
  };
}

/** Does `change` as a provider with bad days would: see `MemoryFault`. */
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
  if (fault?.kind === 'refuse') throw new Terminal('The provider refuses');
  if (fault?.kind === 'unknown') return 'unknown' as T;
  if (fault?.kind === 'hang') return untilAborted(new Promise<never>(() => {}), signal);
  refuse();
  if (fault?.kind === 'late') {
    state.later(fault.delayMilliseconds, change);
    throw new Retryable('The provider did not answer in time');
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

/** The names are what does not change here. */
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

function findPerson(state: MemoryProvider, email: string, name: string): ProviderIdentity | null {
  const { people } = state.options;
  if (!people) return { id: email, name, email };
  const found = people.filter((one) => isSameAddress(one.email, email));
  return found.length === 1 ? (found[0] ?? null) : null;
}

/** Roles and permissions become one access each; a denied permission is none. Resources are not a thing here. */
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
