import { readDuration } from '../duration.js';
import { Pending, Retryable, Terminal } from '../errors.js';
import type { Access, ListedEntitlement } from '../port.js';
import type { ByNames, NamedEntitlement } from './by-names.js';
import type { TestRunner } from './hostile-holder.js';

/** How an operation that the provider works on can end. */
export type Ending = 'succeeds' | 'fails' | 'is cancelled';

/** What a test can do and read at the provider itself, without the connector. A guarantee whose function is absent is not tested. */
export interface AtProvider {
  /** Renames the identity or the access of an entitlement, and returns the entitlement with the new names. */
  rename?(entitlement: NamedEntitlement): Promise<NamedEntitlement>;
  /** Returns the time at which the provider ends the access by itself. */
  endOf?(entitlement: NamedEntitlement): Promise<Date | undefined>;
  /** Returns everything that the provider holds for others, to be compared. */
  neighbours?(entitlement: NamedEntitlement): Promise<unknown>;
  /** Makes a person a member of a target that the configuration calls `exclusive`, and returns this membership. */
  stranger?(): Promise<NamedEntitlement>;
  /** Has the provider work asynchronously on the next call for this entitlement. Returns how to end the operation. */
  operate?(entitlement: NamedEntitlement, task: 'grant' | 'revoke'): Promise<(ending: Ending) => Promise<void>>;
}

/** What the suite works with; read when a test runs. */
interface Opened {
  authorizer: ByNames;
  at: AtProvider;
  fresh(): Promise<NamedEntitlement>;
  accesses(): Access[];
}

const end = (hours: number) => new Date(Date.UTC(2100, 0, 1, hours));

/** Declares the guarantees that are tested with actions at the provider: names, ends, neighbours, other members and operations. */
export function providerConformance({ it, expect }: Pick<TestRunner, 'it' | 'expect'>, open: () => Opened): void {
  const calm = () => new AbortController().signal;
  const pinned = async () => {
    const one = await open().fresh();
    const pin = await open().authorizer.pin(one, calm());
    return pin ? { ...one, pin } : one;
  };
  const present = (one: NamedEntitlement, until = end(0)) => open().authorizer.ensurePresent(one, until, calm());
  const absent = (one: NamedEntitlement) => open().authorizer.ensureAbsent(one, calm());
  const holds = (one: NamedEntitlement) => open().authorizer.holds(one, calm());

  it('revokes what was renamed while it was held', async () => {
    const { rename } = open().at;
    if (!rename) return;
    const one = await pinned();
    await present(one);
    const { pin: _, ...renamed } = await rename(one);
    expect(await holds(one)).toBe(true);
    await absent(one);
    expect([await holds(one), await holds(renamed)]).toEqual([false, false]);
  });

  it('leaves nothing of an identity or an access that was renamed between two overlapping requests', async () => {
    const { rename } = open().at;
    if (!rename) return;
    const one = await pinned();
    await present(one);
    const { pin: _, ...renamed } = await rename(one);
    const pin = await open().authorizer.pin(renamed, calm());
    // Core commits the names of both requests with the one entitlement, or has two where the name is the identifier.
    const isSame = JSON.stringify(pin) === JSON.stringify(one.pin);
    const names = [one, renamed].map(({ identity, access }) => ({ identity, access }));
    const next = { ...renamed, ...(pin ? { pin } : {}), ...(isSame ? { names } : {}) };
    await present(next);
    expect(await holds(next)).toBe(true);
    for (const ended of isSame ? [next] : [next, one]) await absent(ended);
    for (const gone of [next, one, renamed]) expect(await holds(gone)).toBe(false);
  });

  it('extends native expiry with a later end, and never shortens it', async () => {
    const { endOf } = open().at;
    if (!endOf) return;
    const one = await pinned();
    for (const [told, least] of [
      [0, 0],
      [2, 2],
      [1, 2],
      [2, 2],
    ] as const) {
      await present(one, end(told));
      expect((await endOf(one))?.getTime()).toBeGreaterThanOrEqual(end(least).getTime());
    }
    await absent(one);
    expect(await holds(one)).toBe(false);
  });

  it('changes nothing that the provider holds for others', async () => {
    const { neighbours } = open().at;
    if (!neighbours) return;
    const one = await pinned();
    const before = await neighbours(one);
    await present(one);
    expect(await neighbours(one)).toEqual(before);
    await absent(one);
    expect(await neighbours(one)).toEqual(before);
  });

  it('lists members of exclusive targets that it did not grant, with their pins', async () => {
    const { authorizer, at } = open();
    if (!at.stranger || !authorizer.list) return;
    const stranger = await at.stranger();
    const found: ListedEntitlement[] = [];
    for await (const one of authorizer.list(calm())) found.push(one);
    const pin = await authorizer.pin(stranger, calm());
    expect(found.map((one) => one.pin)).toContainEqual(pin);
  });

  it.each<Ending>(['succeeds', 'fails', 'is cancelled'])(
    'waits for an operation that grants and then %s',
    async (ending) => {
      const { operate } = open().at;
      if (!operate) return;
      const one = await pinned();
      const finish = await operate(one, 'grant');
      await expect(present(one)).rejects.toBeInstanceOf(Pending);
      expect(await holds(one)).toBe('changing');
      await expect(present(one)).rejects.toBeInstanceOf(Pending);
      // A revocation waits as well, or cancels the operation; it never succeeds while the access may still appear.
      const revoked = await absent(one).then(
        () => true,
        (error: unknown) => !(error instanceof Pending) && error,
      );
      expect([true, false]).toContain(revoked);
      if (revoked === true) return expect(await holds(one)).toBe(false);
      await finish(ending);
      expect(await holds(one)).toBe(ending === 'succeeds');
      if (ending === 'fails') await expect(present(one)).rejects.toBeInstanceOf(Terminal);
      else await present(one);
      await absent(one);
      expect(await holds(one)).toBe(false);
    },
  );

  it.each<Ending>(['succeeds', 'fails', 'is cancelled'])(
    'waits for an operation that revokes and then %s',
    async (ending) => {
      const { operate } = open().at;
      if (!operate) return;
      const one = await pinned();
      await present(one);
      const finish = await operate(one, 'revoke');
      await expect(absent(one)).rejects.toBeInstanceOf(Pending);
      expect(await holds(one)).toBe('changing');
      await finish(ending);
      expect(await holds(one)).toBe(ending !== 'succeeds');
      await absent(one).catch((error: unknown) => expect(error).toBeInstanceOf(Retryable));
      await absent(one);
      expect(await holds(one)).toBe(false);
    },
  );

  it('states how long each access can outlive a revocation as an ISO 8601 duration', () => {
    const { authorizer, accesses } = open();
    for (const access of accesses()) {
      expect(readDuration(authorizer.residualOf?.(access) ?? authorizer.residual)).toBeDefined();
    }
  });
}
