import * as vitest from 'vitest';
import { describe, expect, it } from 'vitest';
import { type AccessRequest, Pending, Retryable, Terminal } from '../src/index.js';
import {
  type AtProvider,
  type Attack,
  byNames,
  conformance,
  createMemoryConnector,
  createMemoryProvider,
  type HostileSubject,
  type MemoryProvider,
  type NamedEntitlement,
  type Seat,
} from '../src/testkit/index.js';

const until = new Date('2100-01-01T00:00:00.000Z');
const tools = { now: Date.now, log: () => {} };
const nothing = { roles: [], permissions: { allow: [], deny: [] }, resources: { allow: [], deny: [] } };
const calm = () => new AbortController().signal;
const one: NamedEntitlement = { id: 'e1', identity: 'ana@example.test', access: { role: 'reader' } };

/** The holder's seat at a provider in memory, which every attack can edit. */
interface MemorySeat extends Seat {
  state: MemoryProvider;
}

const nothingLeft = async () => {};
const attacks: Record<string, Attack<MemorySeat>> = {
  'has another person grant the same': async ({ state, entitlement, canUse }) => {
    state.put(entitlement.identity, entitlement.access, 'of another');
    return { reaches: canUse, stop: nothingLeft };
  },
  'renames the account': async ({ state, entitlement, canUse }) => {
    state.rename(entitlement.identity, `new-${entitlement.identity}`);
    return { reaches: canUse, stop: nothingLeft };
  },
  'has an operation begun that grants the same once more': async ({ state, entitlement, canUse }) => {
    const { identity, access } = entitlement;
    state.begin(identity, access, { task: 'grant', at: 0, fails: false, change: () => state.put(identity, access) });
    return { reaches: canUse, stop: nothingLeft };
  },
  'slows the provider down and loses its answers': async ({ state, canUse }) => {
    state.inject('ensureAbsent', { kind: 'throttle' });
    state.inject('ensureAbsent', { kind: 'conflict' });
    state.inject('ensureAbsent', { kind: 'lost-answer' });
    return { reaches: canUse, stop: nothingLeft };
  },
};

async function openHostile(): Promise<HostileSubject<MemorySeat>> {
  const state = createMemoryProvider({ now: () => new Date('2026-01-01T00:00:00.000Z') });
  const { authorizer, close } = createMemoryConnector(state).create({}, tools);
  let next = 0;
  return {
    authorizer: byNames(authorizer),
    async seat() {
      const entitlement = { id: `h${next}`, identity: `h${next++}@example.test`, access: { role: 'reader' } };
      const canUse = async () => state.holds(entitlement.identity, entitlement.access);
      return { state, entitlement, canUse, close: nothingLeft };
    },
    close,
  };
}

/** Returns the actions of a test at the provider in memory. */
function atProvider(state: MemoryProvider): AtProvider {
  const of = (entitlement: NamedEntitlement) => ({
    ...entitlement,
    identity: state.identifierOf(entitlement.identity) ?? '',
  });
  const heldBy = ({ identity }: NamedEntitlement) => state.held().filter((entry) => entry.identity === identity);
  return {
    async rename(entitlement) {
      const identity = `new-${entitlement.identity}`;
      state.rename(entitlement.identity, identity);
      return { ...entitlement, identity };
    },
    endOf: async (entitlement) => heldBy(of(entitlement))[0]?.until,
    neighbours: async (entitlement) => state.held().filter(({ identity }) => identity !== of(entitlement).identity),
    async stranger() {
      const stranger = { id: '', identity: 'p59@example.test', access: { role: 'reader' } };
      state.put(stranger.identity, stranger.access);
      return stranger;
    },
    async operate(entitlement, task) {
      const { identity, access } = of(entitlement);
      const operation = task === 'grant' ? 'ensurePresent' : 'ensureAbsent';
      state.inject(operation, { kind: 'operation', delayMilliseconds: 60_000 });
      return async (ending) => {
        if (ending === 'succeeds') state.land();
        else if (ending === 'fails') state.fail(identity, access);
        else state.cancel(identity, access);
      };
    },
  };
}

const openMemory = async () => {
  const now = () => new Date('2026-01-01T00:00:00.000Z');
  const people = Array.from({ length: 60 }, (_, n) => `p${n}@example.test`);
  const state = createMemoryProvider({
    now,
    people: people.map((id) => ({ id, name: id, email: id })),
    roles: [{ name: 'reader', arn: 'memory:reader', description: '' }],
  });
  const dead = createMemoryProvider({ now });
  dead.down = true;
  const connector = createMemoryConnector(state);
  state.put('standing@example.test', { role: 'reader' });
  let next = 0;
  return {
    client: connector.create({ expiry: {}, exclusive: ['reader'], residuals: { reader: 'PT1H' } }, tools),
    at: atProvider(state),
    down: createMemoryConnector(dead).create({}, tools),
    plan: (request: AccessRequest) => connector.plan?.({}, request) ?? { ok: false, issues: [] },
    fresh: async () => ({ id: `e${next}`, identity: people[next++] ?? '', access: { role: 'reader' } }),
    nonsense: [
      { ...nothing, roles: [''] },
      { ...nothing, roles: ['reader'], resources: { allow: ['table'], deny: [] } },
    ],
    sensible: { ...nothing, roles: ['reader'] },
    unknownAccess: { role: 'no-such-role' },
    knowsIdentities: true,
    close: async () => {},
  };
};

conformance(vitest, 'memory', openMemory, { open: openHostile, attacks });

function open() {
  let time = 0;
  const state = createMemoryProvider({ now: () => new Date(time) });
  const client = createMemoryConnector(state).create({}, tools);
  if (!client.authorizer || !client.notifications || !client.identities) throw new Error('a capability is missing');
  return { state, client, ...client, authorizer: byNames(client.authorizer), advance: (by: number) => (time += by) };
}

describe('the memory provider fails on demand', () => {
  it('throttles once, with the pause that it requests, and changes nothing', async () => {
    const { state, authorizer } = open();
    state.inject('ensurePresent', { kind: 'throttle', afterMilliseconds: 1500 });
    const error = await authorizer.ensurePresent(one, until, calm()).catch((caught) => caught);
    expect(error).toBeInstanceOf(Retryable);
    expect(error.options.afterMilliseconds).toBe(1500);
    expect(state.held()).toEqual([]);
    await authorizer.ensurePresent(one, until, calm());
    expect(state.held()).toEqual([one]);
  });

  it('conflicts, rejects and loses responses', async () => {
    const { state, authorizer } = open();
    state.inject('ensurePresent', { kind: 'conflict' });
    state.inject('ensurePresent', { kind: 'refuse' });
    state.inject('ensurePresent', { kind: 'lost-answer' });
    await expect(authorizer.ensurePresent(one, until, calm())).rejects.toBeInstanceOf(Retryable);
    await expect(authorizer.ensurePresent(one, until, calm())).rejects.toBeInstanceOf(Terminal);
    expect(state.held()).toEqual([]);
    await expect(authorizer.ensurePresent(one, until, calm())).rejects.toBeInstanceOf(Retryable);
    expect(state.held()).toEqual([one]);
  });

  it('returns an unknown state, once', async () => {
    const { state, authorizer } = open();
    state.put(one.identity, one.access, one.id);
    state.inject('holds', { kind: 'unknown' });
    expect(await authorizer.holds(one, calm())).toBe('unknown');
    expect(await authorizer.holds(one, calm())).toBe(true);
  });

  it('hangs until it is aborted, without an effect', async () => {
    const { state, authorizer } = open();
    state.inject('ensurePresent', { kind: 'hang' });
    const stop = new AbortController();
    const call = authorizer.ensurePresent(one, until, stop.signal);
    stop.abort();
    await expect(call).rejects.toBeInstanceOf(Retryable);
    expect(state.held()).toEqual([]);
  });

  it('applies a grant after the call has failed, by its own clock', async () => {
    const { state, authorizer, advance } = open();
    state.inject('ensurePresent', { kind: 'late', delayMilliseconds: 1000 });
    await expect(authorizer.ensurePresent(one, until, calm())).rejects.toBeInstanceOf(Retryable);
    await authorizer.ensureAbsent(one, calm());
    advance(999);
    expect(await authorizer.holds(one, calm())).toBe(false);
    advance(1);
    expect(await authorizer.holds(one, calm())).toBe(true);
  });

  it('works asynchronously, and may fail so', async () => {
    const { state, authorizer, advance } = open();
    state.inject('ensurePresent', { kind: 'fails-later' });
    await authorizer.ensurePresent(one, until, calm());
    advance(1_000_000);
    state.land();
    expect(await authorizer.holds(one, calm())).toBe(false);
    state.inject('ensurePresent', { kind: 'asynchronous', delayMilliseconds: 5 });
    await authorizer.ensurePresent(one, until, calm());
    expect(await authorizer.holds(one, calm())).toBe(false);
    state.land();
    expect(await authorizer.holds(one, calm())).toBe(true);
  });

  it('grants after a failed revocation, and reports a failed grant once', async () => {
    const { state, authorizer, advance } = open();
    const operation = { kind: 'operation', delayMilliseconds: 5, fails: true } as const;
    await authorizer.ensurePresent(one, until, calm());
    for (const end of [() => advance(5), () => state.fail(one.identity, one.access)]) {
      state.inject('ensureAbsent', operation);
      await expect(authorizer.ensureAbsent(one, calm())).rejects.toBeInstanceOf(Pending);
      end();
      await authorizer.ensurePresent(one, until, calm());
    }
    state.remove(one.identity, one.access);
    state.inject('ensurePresent', operation);
    await expect(authorizer.ensurePresent(one, until, calm())).rejects.toBeInstanceOf(Pending);
    advance(5);
    await expect(authorizer.ensurePresent(one, until, calm())).rejects.toThrow('could not grant it');
    await authorizer.ensurePresent(one, until, calm());
    expect(await authorizer.holds(one, calm())).toBe(true);
  });

  it('goes down, comes back, is edited from outside, and counts its calls', async () => {
    const { state, authorizer } = open();
    const pin = { target: 'memory', subject: { identity: one.identity, access: one.access } };
    const holds = () => authorizer.holds({ ...one, pin }, calm());
    state.down = true;
    await expect(holds()).rejects.toBeInstanceOf(Retryable);
    state.down = false;
    state.put(one.identity, one.access);
    expect(await holds()).toBe(true);
    state.remove(one.identity, { ...one.access });
    expect(await holds()).toBe(false);
    expect([state.count('holds'), state.count('ensurePresent'), state.count()]).toEqual([3, 0, 3]);
    expect(state.calls[0]).toEqual({
      operation: 'holds',
      identity: one.identity,
      access: one.access,
      at: new Date(0),
    });
  });

  it('delivers a message once for each key, and knows a person by e-mail', async () => {
    const { state, notifications, identities } = open();
    const message = { to: 'ana@example.test', title: 't', text: 'x', facts: [], actions: [], idempotencyKey: 'k' };
    await notifications?.deliver(message, calm());
    await notifications?.deliver(message, calm());
    expect(state.messages).toEqual([message]);
    const person = { email: 'ana@example.test', name: 'Ana', subject: 's' };
    expect(await identities?.find(person, calm())).toEqual({ id: person.email, name: 'Ana', email: person.email });
  });

  it('plans each role and each permission that is not denied as one access', () => {
    const plan = createMemoryConnector().plan?.(
      {},
      {
        roles: ['a', 'a'],
        permissions: { allow: ['p', 'q'], deny: ['q'] },
        resources: { allow: [], deny: [] },
      },
    );
    expect(plan).toEqual({ ok: true, accesses: [{ role: 'a' }, { permission: 'p' }] });
  });
});
