import { readDuration } from '../duration.js';
import { OtherTarget, Retryable, Terminal } from '../errors.js';
import type { Access, AccessRequest, Plan, ProviderClient } from '../port.js';
import { type ByNames, byNames, type NamedEntitlement } from './by-names.js';
import type { TestRunner } from './hostile-holder.js';
import { type HostileHolder, hostileHolder, type Seat } from './hostile-holder.js';
import { type AtProvider, providerConformance } from './provider-conformance.js';

/** One connector with an authorizer, whose provider is available. */
export interface ConformanceSubject {
  client: ProviderClient;
  /** A client of the same type whose provider is unavailable. */
  down: ProviderClient;
  plan(request: AccessRequest): Plan;
  /** Returns an entitlement that the provider can grant and does not hold, another one at each call. */
  fresh(): Promise<NamedEntitlement>;
  /** Requests that `plan` must reject; the suite adds the empty one. */
  nonsense: AccessRequest[];
  /** A request that `plan` accepts. */
  sensible: AccessRequest;
  /** Names an access that does not exist at the provider. */
  unknownAccess: Access;
  /** False when the provider accepts every identity, so that no identity is unknown. */
  knowsIdentities: boolean;
  /** What the test can do at the provider itself, without the connector. */
  at?: AtProvider;
  close(): Promise<void>;
}

const until = new Date('2100-01-01T00:00:00.000Z');
const oddNames = [
  `o'brien`,
  'two"quotes',
  `x"; drop role "y`,
  `'; select 1; --`,
  'ünïcødé 🔑',
  '../../etc/passwd',
  'a\0b',
  'a\nb',
  '*',
  '%',
  '',
  'long'.repeat(64),
  'x'.repeat(300),
];

/**
 * Declares the guarantees that every connector with an authorizer gives. `hostile` adds the attacks of a holder who
 * tries to keep the access; leave it out when the suite runs again for the same connector with another configuration.
 */
export function conformance<S extends Seat>(
  runner: TestRunner,
  name: string,
  open: () => Promise<ConformanceSubject>,
  hostile?: HostileHolder<S>,
): void {
  const { describe, it, expect, beforeAll, afterAll } = runner;
  if (hostile) hostileHolder(runner, name, hostile);

  describe(`${name} keeps the connector's promises`, () => {
    let subject: ConformanceSubject;
    let authorizer: ByNames;
    const calm = () => new AbortController().signal;
    const present = (one: NamedEntitlement) => authorizer.ensurePresent(one, until, calm());
    const absent = (one: NamedEntitlement) => authorizer.ensureAbsent(one, calm());
    const holds = (one: NamedEntitlement) => authorizer.holds(one, calm());
    const pinned = async (one: NamedEntitlement) => {
      const pin = await authorizer.pin(one, calm());
      if (!pin) throw new Error('The provider has no such access');
      return { ...one, pin };
    };
    const down = () => byNames(subject.down.authorizer);

    beforeAll(async () => {
      subject = await open();
      authorizer = byNames(subject.client.authorizer);
    });
    afterAll(() => subject?.close());

    it('grants, reads back and revokes access', async () => {
      const one = await subject.fresh();
      expect(await holds(one)).toBe(false);
      await present(one);
      expect(await holds(one)).toBe(true);
      await absent(one);
      expect(await holds(one)).toBe(false);
    });

    it('takes repeats for normal, in both directions', async () => {
      const one = await subject.fresh();
      await absent(one);
      expect(await holds(one)).toBe(false);
      await present(one);
      await present(one);
      expect(await holds(one)).toBe(true);
      await absent(one);
      await absent(one);
      expect(await holds(one)).toBe(false);
    });

    it('keeps entitlements apart', async () => {
      const [one, other] = [await subject.fresh(), await subject.fresh()];
      await present(one);
      await present(other);
      await absent(one);
      expect([await holds(one), await holds(other)]).toEqual([false, true]);
      await absent(other);
    });

    it('goes by the pin, at the pinned target only', async () => {
      const [one, other] = [await subject.fresh(), await subject.fresh()];
      const pin = await authorizer.pin(one, calm());
      expect(pin).toEqual({ target: await authorizer.target(calm()), subject: expect.anything() });
      if (!pin) return;
      expect(await authorizer.pin(one, calm())).toEqual(pin);
      expect(await authorizer.pin(other, calm())).not.toEqual(pin);
      const pinned = { ...one, pin };
      await present(pinned);
      expect([await holds(pinned), await holds(one)]).toEqual([true, true]);
      const elsewhere = { ...one, pin: { ...pin, target: `${pin.target} of another` } };
      for (const call of [holds, present, absent]) await expect(call(elsewhere)).rejects.toBeInstanceOf(OtherTarget);
      expect(await holds(pinned)).toBe(true);
      await absent(pinned);
      expect([await holds(pinned), await holds(one)]).toEqual([false, false]);
    });

    it('has no pin for what does not exist', async () => {
      const one = await subject.fresh();
      expect(await authorizer.pin({ ...one, access: subject.unknownAccess }, calm())).toBeNull();
      if (subject.knowsIdentities)
        expect(await authorizer.pin({ ...one, identity: 'nobody-by-this-name' }, calm())).toBeNull();
    });

    it('stands by for a revocation as often as it is told to, and stands down', async () => {
      const one = await subject.fresh();
      await Promise.all([authorizer.standBy?.(calm()), authorizer.standBy?.(calm())]);
      await present(one);
      await authorizer.standBy?.(calm());
      await absent(one);
      expect(await holds(one)).toBe(false);
      await Promise.all([authorizer.standDown?.(), authorizer.standDown?.()]);
      await authorizer.standBy?.(calm());
      await authorizer.standDown?.();
      if (subject.down.authorizer?.standBy)
        await expect(subject.down.authorizer.standBy(calm())).rejects.toBeInstanceOf(Retryable);
    });

    it('takes ten grants at once for one, and one revocation takes them all away', async () => {
      const one = await subject.fresh();
      await Promise.all(Array.from({ length: 10 }, () => present(one)));
      expect(await holds(one)).toBe(true);
      await absent(one);
      expect(await holds(one)).toBe(false);
    });

    it('ends as the last call says after grants and revocations crossed each other', async () => {
      const one = await subject.fresh();
      const crossing = () => Promise.allSettled([present(one), absent(one), present(one), absent(one)]);
      for (const outcome of await crossing()) {
        if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(Retryable);
      }
      await present(one);
      expect(await holds(one)).toBe(true);
      await crossing();
      await absent(one);
      expect(await holds(one)).toBe(false);
    });

    it('has nothing to do for an access that does not exist, and rejects a grant of it', async () => {
      const one = { ...(await subject.fresh()), access: subject.unknownAccess };
      expect(await holds(one)).toBe(false);
      await absent(one);
      await expect(present(one)).rejects.toBeInstanceOf(Terminal);
      expect(await holds(one)).toBe(false);
    });

    it('has nothing to do for an identity that does not exist, and rejects a grant for it', async () => {
      const one = { ...(await subject.fresh()), identity: 'nobody-by-this-name' };
      expect(await holds(one)).toBe(false);
      await absent(one);
      if (subject.knowsIdentities) await expect(present(one)).rejects.toBeInstanceOf(Terminal);
    });

    it.each(oddNames)('takes the name %j as data', async (odd) => {
      const good = await subject.fresh();
      await present(good);
      const [key] = Object.keys(good.access);
      for (const one of [
        { ...good, identity: odd },
        { ...good, access: { ...good.access, [key ?? '']: odd } },
      ]) {
        const granted = await present(one).then(
          () => true,
          (error) => {
            expect(error).toBeInstanceOf(Terminal);
            return false;
          },
        );
        // An access that is not one of this connector's may be rejected, but must not be reported as held.
        expect(await holds(one).catch((error) => error instanceof Terminal && false)).toBe(granted);
        await absent(one).catch((error) => expect(error).toBeInstanceOf(Terminal));
        expect(await holds(one).catch((error) => !(error instanceof Terminal))).toBe(false);
      }
      expect(await holds(good)).toBe(true);
      await absent(good);
    });

    it('starts nothing when the signal has said stop', async () => {
      const one = await subject.fresh();
      const stopped = AbortSignal.abort();
      await expect(authorizer.holds(one, stopped)).rejects.toBeInstanceOf(Retryable);
      await expect(authorizer.ensurePresent(one, until, stopped)).rejects.toBeInstanceOf(Retryable);
      expect(await holds(one)).toBe(false);
      await present(one);
      await expect(authorizer.ensureAbsent(one, stopped)).rejects.toBeInstanceOf(Retryable);
      expect(await holds(one)).toBe(true);
      await absent(one);
    });

    it('lets its caller go when the signal says stop, and goes on working', async () => {
      const one = await subject.fresh();
      const stop = new AbortController();
      const calls = [
        authorizer.ensurePresent(one, until, stop.signal),
        authorizer.holds(one, stop.signal),
        authorizer.ensureAbsent(one, stop.signal),
      ];
      stop.abort();
      for (const outcome of await Promise.allSettled(calls)) {
        if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(Retryable);
      }
      await absent(one);
      expect(await holds(one)).toBe(false);
    });

    it('says that it knows what is held only if it never answers "unknown"', async () => {
      const one = await subject.fresh();
      const strangers = [
        { ...one, access: subject.unknownAccess },
        { ...one, identity: 'nobody-by-this-name' },
      ];
      const answers: unknown[] = [await holds(one), ...(await Promise.all(strangers.map(holds)))];
      await present(one);
      answers.push(await holds(one));
      await absent(one);
      answers.push(await holds(one));
      // An unavailable provider is an error that can be retried, not the result `unknown`.
      answers.push(
        await down()
          .holds(one, calm())
          .catch(() => false),
      );
      expect(answers.includes('unknown')).toBe(!authorizer.knows);
    });

    it('says that a provider which does not answer may be asked again', async () => {
      const one = await subject.fresh();
      const held = await pinned(one);
      for (const each of [one, held]) {
        await expect(down().holds(each, calm())).rejects.toBeInstanceOf(Retryable);
        await expect(down().ensurePresent(each, until, calm())).rejects.toBeInstanceOf(Retryable);
        await expect(down().ensureAbsent(each, calm())).rejects.toBeInstanceOf(Retryable);
      }
      await expect(subject.down.check(calm())).rejects.toBeInstanceOf(Retryable);
      await subject.client.check(calm());
    });

    it('plans accesses that it can grant, and rejects others with the place of the fault', () => {
      const plan = subject.plan(subject.sensible);
      expect(plan.ok && plan.accesses.length).toBeGreaterThan(0);
      const nothing: AccessRequest = {
        roles: [],
        permissions: { allow: [], deny: [] },
        resources: { allow: [], deny: [] },
      };
      for (const request of [nothing, ...subject.nonsense]) {
        const refused = subject.plan(request);
        expect(refused.ok).toBe(false);
        if (refused.ok) continue;
        expect(refused.issues.length).toBeGreaterThan(0);
        for (const issue of refused.issues)
          expect(issue).toEqual({ path: expect.any(String), message: expect.any(String) });
      }
    });

    it('lists what it granted, and not what it revoked', async () => {
      if (!authorizer.list) return;
      const one = await subject.fresh();
      const listed = async () => {
        const found: unknown[] = [];
        for await (const { identity, access } of authorizer.list?.(calm()) ?? []) found.push({ identity, access });
        return found;
      };
      await present(one);
      expect(await listed()).toContainEqual({ identity: one.identity, access: one.access });
      await absent(one);
      expect(await listed()).not.toContainEqual({ identity: one.identity, access: one.access });
    });

    it('states as an ISO 8601 duration how long access can outlive a revocation', () => {
      expect(readDuration(authorizer.residual)).toBeDefined();
    });

    providerConformance(runner, () => ({
      authorizer,
      at: subject.at ?? {},
      fresh: subject.fresh,
      accesses: () => {
        const plan = subject.plan(subject.sensible);
        return plan.ok ? plan.accesses : [];
      },
    }));

    it('names its roles and permissions', async () => {
      for (const role of await authorizer.roles(calm())) {
        expect(role).toEqual({ name: expect.any(String), arn: expect.any(String), description: expect.any(String) });
      }
      for (const permission of await authorizer.permissions(calm())) {
        expect(permission).toEqual({ name: expect.any(String), description: expect.any(String) });
      }
    });
  });
}
