import { describe, expect, it } from 'vitest';
import { explore } from './support/access-model.js';
import { type Protocol, Q } from './support/access-world.js';

const timeout = process.env.BELAY_TEST_LONG ? 1_200_000 : 240_000;

describe('grants never leak, are never forgotten and never lengthened: every reachable state of the model', () => {
  it.each([false, true])(
    'holds what is wanted and nothing else under R1–R6 (held before: %s)',
    { timeout },
    (standing) => {
      const { states, settled, wrong, trace } = explore(standing, { quarantine: Q });
      console.info(`model, held before=${standing}: ${states} states, ${settled} settled`);
      expect({ wrong, trace }).toEqual({ wrong: null, trace: [] });
      // A model that reached nothing would prove nothing.
      expect(states).toBeGreaterThan(standing ? 20 : 400_000);
      expect(settled).toBeGreaterThan(standing ? 20 : 100);
    },
  );

  it('no leak while operations of the provider outlast the quarantine', { timeout }, () => {
    const { states, settled, wrong, trace } = explore(false, { quarantine: Q, operations: true });
    console.info(`model with operations: ${states} states, ${settled} settled`);
    expect({ wrong, trace }).toEqual({ wrong: null, trace: [] });
    expect(states).toBeGreaterThan(300_000);
    expect(settled).toBeGreaterThan(100);
  });

  it('no leak without quarantine where calls have landed when they return, and nothing of others is revoked', {
    timeout,
  }, () => {
    const { states, settled, wrong, trace } = explore(false, { quarantine: Q, neverLate: true });
    console.info(`model of calls that are never late: ${states} states, ${settled} settled`);
    expect({ wrong, trace }).toEqual({ wrong: null, trace: [] });
    expect(states).toBeGreaterThan(400_000);
    expect(settled).toBeGreaterThan(100);
  });

  it('takes nothing away that others grant by an operation which outlasts the request', () => {
    const { states, settled, wrong, trace } = explore(false, { quarantine: Q, operations: true }, 'neighbour');
    console.info(`model with an operation of others: ${states} states, ${settled} settled`);
    expect({ wrong, trace }).toEqual({ wrong: null, trace: [] });
    expect(settled).toBeGreaterThan(20);
  });

  it('the model can fail: taking an operation of others for what was there before revokes what they granted', () => {
    const protocol = { quarantine: Q, operations: true, believeChanging: true };
    const { wrong, trace } = explore(false, protocol, 'neighbour');
    expect(wrong, trace.join(' > ')).toBe('revoked what was held before');
  });

  it.each<[string, Protocol, string]>([
    ['R1: a call before its intent leaks', { quarantine: Q, callFirst: true }, 'LEAK'],
    ['R3: what an end stores is not what another grant wants', { quarantine: Q, storeWanted: true }, 'FORGOTTEN'],
    ['R4: a failed grant that closes its row leaks', { quarantine: Q, closeOnFailure: true }, 'LEAK'],
    ['R5 with >= leaks at the boundary', { quarantine: Q - 1 }, 'LEAK'],
    ['R5: one revoke, with no quarantine, leaks', { quarantine: Number.NEGATIVE_INFINITY }, 'LEAK'],
    ['R5: a quarantine per grant leaks', { quarantine: Q, quarantinePerGrant: true }, 'LEAK'],
    ['R5: no quarantine leaks while calls are open', { quarantine: Q, neverLate: true, countNothing: true }, 'LEAK'],
    ['R5: a call that lands after it returned leaks', { quarantine: Q, neverLate: true, lagging: true }, 'UNCOUNTED'],
    ['R5: a failed call is open', { quarantine: Q, neverLate: true, countFailures: true }, 'UNCOUNTED'],
    ['R6: the return of a call says nothing of what is held', { quarantine: Q, believeReturn: true }, 'FORGOTTEN'],
    ['R6: an unknown read after a call settles nothing', { quarantine: Q, blind: true }, 'FORGOTTEN'],
    ['R6: an operation is not its result', { quarantine: Q, operations: true, believeChanging: true }, 'FORGOTTEN'],
    ['a row that changed during the call is not settled', { quarantine: Q, settleDisturbed: true }, 'FORGOTTEN'],
    ['a row that changed during every call lengthens access', { quarantine: Q, postponeClocks: true }, 'LENGTHENED'],
    ['a result with an older fence is not recorded', { quarantine: Q, ignoreFence: true }, 'FORGOTTEN'],
    ['a late call makes its row due', { quarantine: Q, silentLate: true }, 'FORGOTTEN'],
  ])('the model finds a rule that is missing: %s', (_name, protocol, wrong) => {
    const found = explore(false, protocol);
    expect(found.wrong, found.trace.join(' > ')).toBe(wrong);
  });

  it.each<[string, Protocol]>([
    ['R2: managing what was held before takes it away', { quarantine: Q, ignoreStanding: true }],
    ['R2: believing an unknown observation takes it away', { quarantine: Q, blind: true }],
  ])('the model finds a rule that is missing: %s', (_name, protocol) => {
    const { wrong, trace } = explore(true, protocol);
    expect(wrong, trace.join(' > ')).toBe('revoked what was held before');
  });
});
