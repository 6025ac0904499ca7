import type * as Vitest from 'vitest';
import type { ByNames, NamedEntitlement } from './by-names.js';

/** The parts of vitest that the suite uses, passed in so that the testkit can also be used outside a test run. */
export type TestRunner = Pick<typeof Vitest, 'describe' | 'it' | 'expect' | 'beforeAll' | 'afterAll'>;

/** A holder of one entitlement's access, with their own sign-in at the system. They try to keep the access. */
export interface Seat {
  entitlement: NamedEntitlement;
  /** Returns whether the holder can use the access now, with a new session. */
  canUse(): Promise<boolean>;
  close(): Promise<void>;
}

/** What an attack has set up while the access was held. */
export interface Foothold {
  /** Returns whether the access can be used through what was set up. */
  reaches(): Promise<boolean>;
  /** Removes what only an operator can remove; present exactly when the revocation has to report it instead of succeeding. */
  cleanUp?(): Promise<void>;
  /** Whether it leaves no room for other attacks: it is then stopped before the next attack and not tried again. */
  crowds?: boolean;
  stop(): Promise<void>;
}

/** One thing that a holder does to keep the access. */
export type Attack<S extends Seat = Seat> = (seat: S) => Promise<Foothold>;

/** An authorizer, and holders who work against it. */
export interface HostileSubject<S extends Seat = Seat> {
  authorizer: ByNames;
  /** Returns a person who will hold an entitlement and does not hold it yet; another person at each call. */
  seat(): Promise<S>;
  close(): Promise<void>;
}

export interface HostileHolder<S extends Seat = Seat> {
  open(): Promise<HostileSubject<S>>;
  /** The attacks by what the holder does, for example "keeps a cursor open". */
  attacks: Record<string, Attack<S>>;
  /**
   * How many seconds all footholds are still tried after the last revocation, once a second; 2 by default. Before that, the
   * footholds of earlier attacks are tried after each attack.
   */
  watchSeconds?: number;
  /**
   * True to try less often, which saves time: twice instead of twelve times just after the access is gone, and then
   * each foothold only after its own attack and after one, three, seven … further attacks. All footholds are still
   * tried after the last attack.
   */
  brief?: boolean;
}

/** How long one call of a connector may take (core's call timeout). */
const callMilliseconds = 30_000;
/** How often core calls within a minute, at a back-off of 15 s. */
const mostCalls = 4;
/** How often the suite tries to use the access just after it is gone: by default, and with `brief`. */
const manyTries = 12;
const fewTries = 2;
const until = new Date('2100-01-01T00:00:00.000Z');

/**
 * Declares a test for each attack of a holder who tries to keep the access after its end. The access must not be usable
 * once the revocation is verified, and a revocation must not be verified while anything could bring the access back.
 */
export function hostileHolder<S extends Seat>(
  runner: TestRunner,
  name: string,
  { open, attacks, watchSeconds = 2, brief = false }: HostileHolder<S>,
): void {
  const { describe, it, expect, beforeAll, afterAll } = runner;
  const tries = brief ? fewTries : manyTries;
  /** Returns whether the foothold of an earlier attack is tried again; `ago` is 1 for the latest attack. */
  const isDue = (ago: number) => !brief || Number.isInteger(Math.log2(ago));

  describe(`${name} ends the access of a holder who works against it`, () => {
    let subject: HostileSubject<S>;
    const watched: { name: string; seat: S; foothold: Foothold }[] = [];
    const inTime = () => AbortSignal.timeout(callMilliseconds);

    beforeAll(async () => {
      subject = await open();
    }, 120_000);
    afterAll(async () => {
      for (const { seat, foothold } of watched) {
        await foothold.stop();
        await seat.close();
      }
      await subject?.close();
    }, 60_000);
    const findThoseWhoReach = async (those = watched) => {
      const found: string[] = [];
      for (const { name: doing, seat, foothold } of those) {
        if ((await foothold.reaches()) || (await seat.canUse())) found.push(doing);
      }
      return found;
    };

    /** Revokes as core does: calls again until the call returns and the access is read back as gone. Returns the errors. */
    const revoke = async (entitlement: NamedEntitlement) => {
      const errors: unknown[] = [];
      while (errors.length < mostCalls) {
        try {
          await subject.authorizer.ensureAbsent(entitlement, inTime());
          expect(await subject.authorizer.holds(entitlement, inTime())).toBe(false);
          return errors;
        } catch (error) {
          errors.push(error);
        }
      }
      return errors;
    };

    it.each(Object.entries(attacks))(
      'when the holder %s',
      async (doing, attack) => {
        const { authorizer } = subject;
        const seat = await subject.seat();
        let foothold: Foothold | undefined;
        try {
          const pin = await authorizer.pin(seat.entitlement, inTime());
          expect(pin).not.toBeNull();
          const held = { ...seat.entitlement, ...(pin ? { pin } : {}), generation: 'first' };
          await authorizer.standBy?.(inTime());
          expect(await seat.canUse()).toBe(false);
          await authorizer.ensurePresent(held, until, inTime());
          expect(await seat.canUse()).toBe(true);
          foothold = await attack(seat);

          const errors = await revoke(held);
          if (foothold.cleanUp) {
            expect(errors).toHaveLength(mostCalls);
            // Compared by name, because an error can come from another copy of the package.
            for (const error of errors)
              expect(error).toMatchObject({ name: expect.stringMatching(/^(Retryable|Pending|LeftToOthers)$/) });
          } else expect(errors.length).toBeLessThan(mostCalls);
          for (let turn = 0; turn < tries; turn++) {
            // The second revoke (R5), halfway through the tries.
            if (turn === tries / 2) await authorizer.ensureAbsent(held, inTime()).catch(() => {});
            expect(await foothold.reaches()).toBe(false);
            expect(await seat.canUse()).toBe(false);
          }
          if (foothold.cleanUp) {
            await foothold.cleanUp();
            expect(await revoke(held)).toEqual([]);
          }
          if (!foothold.crowds) watched.push({ name: doing, seat, foothold });
        } finally {
          await authorizer.standDown?.();
          if (watched.at(-1)?.seat !== seat) {
            await foothold?.stop();
            await seat.close();
          }
        }
        expect(await findThoseWhoReach(watched.filter((_, index) => isDue(watched.length - index)))).toEqual([]);
      },
      120_000,
    );

    it(
      `and for ${watchSeconds} s after the last of them`,
      async () => {
        expect(watched.length).toBeGreaterThan(0);
        // By the clock, because on a busy machine one round of all footholds takes seconds.
        const over = AbortSignal.timeout(1_000 * watchSeconds);
        do {
          expect(await findThoseWhoReach()).toEqual([]);
          await new Promise((done) => setTimeout(done, 1_000));
        } while (!over.aborted);
      },
      1_000 * watchSeconds + 120_000,
    );
  });
}
