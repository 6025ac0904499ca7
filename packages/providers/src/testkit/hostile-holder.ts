import type * as Vitest from 'vitest';
import type { Authorizer, EntitlementRef } from '../port.js';

/** What the suite needs of vitest, handed in so that the testkit can be used outside a test run as well. */
export type TestRunner = Pick<typeof Vitest, 'describe' | 'it' | 'expect' | 'beforeAll' | 'afterAll'>;

/** The holder's own way into the system: they hold the access of one entitlement, and want to keep it. */
export interface Seat {
  entitlement: EntitlementRef;
  /** Whether the holder can use the access now, by a new way in. */
  canUse(): Promise<boolean>;
  close(): Promise<void>;
}

/** What an attack has set up while the access was held. */
export interface Foothold {
  /** Whether the access can be used by what was set up. */
  reaches(): Promise<boolean>;
  /** Removes what only an operator can remove; present exactly when the revocation has to report it instead of settling. */
  cleanUp?(): Promise<void>;
  /** Whether it leaves no room for others: it is stopped before the next attack instead of being watched on. */
  crowds?: boolean;
  stop(): Promise<void>;
}

/** One thing that a holder does to keep the access, from their seat. */
export type Attack<S extends Seat = Seat> = (seat: S) => Promise<Foothold>;

/** An authorizer, and the seats of those who hold access there and work against it. */
export interface HostileSubject<S extends Seat = Seat> {
  authorizer: Authorizer;
  /** An entitlement that is not held yet, and the seat of who will hold it; another at each call. */
  seat(): Promise<S>;
  close(): Promise<void>;
}

export interface HostileHolder<S extends Seat = Seat> {
  open(): Promise<HostileSubject<S>>;
  /** By what the holder does: "keeps a cursor open". */
  attacks: Record<string, Attack<S>>;
  /**
   * How long after the last `gone` everything is still tried, once a second; before that, all that earlier attacks set up
   * is tried after each attack. Two seconds, unless there is a minute to spare.
   */
  watchSeconds?: number;
  /**
   * True to try less often, where there is no minute to spare: twice instead of twelve times just after the access is gone, and what
   * an attack set up only after one, two, four, eight … further attacks. Everything is still tried after the last of them.
   */
  brief?: boolean;
}

/** How long one call of a connector may take (core's call timeout). */
const callMilliseconds = 30_000;
/** How often core calls again before a minute is over, at a back-off of 15 s. */
const mostCalls = 4;
/** How often it is tried to use the access just after it is gone, at length and in brief. */
const manyTries = 12;
const fewTries = 2;
const until = new Date('2100-01-01T00:00:00.000Z');

/**
 * Has the identity that holds the access do all it can to keep it, from the grant until after `gone`: nothing is to be
 * used once the revocation is verified, and what would bring the access back keeps it from being called verified.
 */
export function hostileHolder<S extends Seat>(
  runner: TestRunner,
  name: string,
  { open, attacks, watchSeconds = 2, brief = false }: HostileHolder<S>,
): void {
  const { describe, it, expect, beforeAll, afterAll } = runner;
  const tries = brief ? fewTries : manyTries;
  /** Whether what was set up that many attacks ago is tried again. */
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

    /** As core does it: calls again until the call returns and the access is read back as gone; gives the errors. */
    const revoke = async (entitlement: EntitlementRef) => {
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
            // By name: an error can come from another copy of the package.
            for (const error of errors)
              expect(error).toMatchObject({ name: expect.stringMatching(/^(Retryable|Pending)$/) });
          } else expect(errors.length).toBeLessThan(mostCalls);
          for (let turn = 0; turn < tries; turn++) {
            // The second revoke (R5), in the middle of it.
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
        // By the clock: on a busy machine one look at all of them takes seconds.
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
