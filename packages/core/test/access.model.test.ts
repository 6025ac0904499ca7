import { describe, expect, it } from 'vitest';
import {
  decideClaim,
  decideGranted,
  decideIntent,
  decideLate,
  decideRevoked,
  type EntitlementFacts,
  type Held,
  settles,
} from '../src/access/decide.js';

// The model of docs/architecture.md, section 6: one entitlement, two grants that may end early, and a discrete clock. A call can be
// late by up to Q, be lost, or land after its worker died. The provider may work on an operation for any time, which then succeeds,
// fails or is cancelled. The decisions are made by the functions of the service.

const Q = 2;
const LIFE = 2;
const END = 12;
const LAST_ASK = 4;
const MOST_GRANT_CALLS = 3;

type Grant = null | 'refused' | { expires: number; ended: boolean };
type Call = { what: 'grant' | 'revoke'; startedAt: number };

interface World {
  time: number;
  standing: boolean;
  held: boolean;
  entitlement: EntitlementFacts;
  grants: [Grant, Grant];
  observed: [Held | null, Held | null];
  calls: Call[];
  grantCalls: number;
  /** What the provider has accepted and not finished; until then it reads as `changing`. `neighbour` is a grant that others made there. */
  operation: Call['what'] | 'neighbour' | null;
  bad: string | null;
}

/**
 * How a protocol may differ from ours. Each difference except `operations` is known to be wrong, which shows that the
 * model finds faults.
 */
interface Protocol {
  quarantine: number;
  callFirst?: boolean;
  closeOnFailure?: boolean;
  quarantinePerGrant?: boolean;
  ignoreStanding?: boolean;
  /** The connector never knows what is held, so that `unknown` is accepted as a result. */
  blind?: boolean;
  /**
   * The provider may work on a call as an operation. Such a world has one grant call fewer, because it would be too
   * large otherwise.
   */
  operations?: boolean;
  /** `changing` is read as the access that was there before. */
  believeChanging?: boolean;
}

type Emit = (label: string, world: World) => void;

const copy = (world: World): World => ({
  ...world,
  entitlement: { ...world.entitlement },
  grants: world.grants.map((grant) => (grant && grant !== 'refused' ? { ...grant } : grant)) as World['grants'],
  observed: [...world.observed],
  calls: [...world.calls],
});

const isLive = (grant: Grant, time: number) =>
  grant !== null && grant !== 'refused' && !grant.ended && time < grant.expires;
const isWanted = (world: World) => world.grants.some((grant) => isLive(grant, world.time));

/**
 * Returns the key of a world. Two worlds that differ only in which grant is which, or in the order of their calls, have the same
 * key, because the rules cannot distinguish them.
 */
function keyOf(world: World): string {
  const [one, other] = [grantKey(world, 0), grantKey(world, 1)];
  const grants = one < other ? one + other : other + one;
  let calls = '';
  if (world.calls.length === 1) calls = callKey(world.calls[0]);
  else if (world.calls.length > 1) calls = world.calls.map(callKey).sort().join('');
  const { state, lastGrantCallAt } = world.entitlement;
  return `${world.time}${world.standing ? 's' : ''}${world.held ? 'h' : 'n'}${world.operation ?? ''}${state}${lastGrantCallAt}${grants}${calls}${world.grantCalls}${world.bad ?? ''}`;
}

function grantKey(world: World, index: 0 | 1): string {
  const grant = world.grants[index];
  const observed = world.observed[index];
  const seen = observed === null ? '?' : observed === 'unknown' ? 'u' : observed ? '+' : '-';
  if (grant === null || grant === 'refused') return `${seen}${grant === null ? '.' : 'x'}`;
  return `${seen}${grant.expires}${grant.ended ? 'e' : 'l'}`;
}

const callKey = (call: Call | undefined) => (call ? `${call.what === 'grant' ? 'g' : 'r'}${call.startedAt};` : '');

function each(world: World, protocol: Protocol, emit: Emit): void {
  const change = (label: string, edit: (next: World) => void, from = world) => {
    const next = copy(from);
    edit(next);
    emit(label, next);
  };
  // R5 assumes that a call lands within Q of its claim: time does not pass a call that is still in progress.
  if (world.time < END && world.calls.every((call) => world.time < call.startedAt + Q)) {
    change('tick', (next) => {
      next.time += 1;
    });
  }
  for (const index of [0, 1] as const) asking(world, index, protocol, change);
  const decision = decideClaim(world.entitlement, isWanted(world));
  if (decision.do === 'grant' && world.grantCalls < mostGrantCalls(protocol)) {
    change('grant call', (next) => {
      next.entitlement = { state: 'granting', lastGrantCallAt: next.time };
      next.grantCalls += 1;
      next.calls.push({ what: 'grant', startedAt: next.time });
    });
  }
  if (decision.do === 'revoke' && !world.calls.some((call) => call.what === 'revoke')) {
    change('revoke call', (next) => {
      next.entitlement.state = 'revoking';
      next.calls.push({ what: 'revoke', startedAt: next.time });
      if (next.standing) next.bad = 'revoked what was held before';
    });
  }
  world.calls.forEach((call, index) => landing(world, call, index, protocol, change));
  if (world.operation) {
    change('operation succeeds', (next) => {
      next.held = next.operation !== 'revoke';
      next.standing ||= next.operation === 'neighbour';
      next.operation = null;
    });
    // When an operation of others fails, the world is the same as without it.
    if (world.operation !== 'neighbour') {
      change('operation fails or is cancelled', (next) => {
        next.operation = null;
      });
    }
  }
}

const mostGrantCalls = ({ operations }: Protocol) => (operations ? MOST_GRANT_CALLS - 1 : MOST_GRANT_CALLS);

/** Returns what a read of the provider shows; null where the read settles nothing. */
function read(world: World, protocol: Protocol): Held | null {
  if (!world.operation || protocol.believeChanging) return world.held;
  return settles('changing', !protocol.blind) ? world.held : null;
}

type Change = (label: string, edit: (next: World) => void, from?: World) => void;

/** Plays a grant step: it observes, and later intends or rejects; a grant may end early. */
function asking(world: World, index: 0 | 1, protocol: Protocol, change: Change): void {
  const grant = world.grants[index];
  const observed = world.observed[index];
  if (grant === null && observed === null && world.time <= LAST_ASK) {
    const held = read(world, protocol);
    if (held !== null) {
      change(`${index} observes ${held}`, (next) => {
        next.observed[index] = held;
      });
    }
    // An observation that settles nothing leaves the world as it was: the step repeats it.
    if (settles('unknown', !protocol.blind)) {
      change(`${index} observes nothing`, (next) => {
        next.observed[index] = 'unknown';
      });
    }
  }
  if (grant === null && observed !== null && protocol.callFirst) {
    if (!observed && world.grantCalls < MOST_GRANT_CALLS) {
      change(`${index} calls without intent`, (next) => {
        next.grants[index] = 'refused';
        next.grantCalls += 1;
        next.calls.push({ what: 'grant', startedAt: next.time });
      });
    }
  } else if (grant === null && observed !== null) {
    const intent = decideIntent(world.entitlement, protocol.ignoreStanding ? 'unknown' : observed);
    change(`${index} ${intent}`, (next) => {
      if (intent === 'refuse') {
        next.grants[index] = 'refused';
        return;
      }
      next.grants[index] = { expires: next.time + LIFE, ended: false };
      next.entitlement.state = intent;
      if (protocol.quarantinePerGrant) next.entitlement.lastGrantCallAt = null;
    });
  }
  if (isLive(grant, world.time)) {
    change(`${index} ends early`, (next) => {
      const live = next.grants[index];
      if (live && live !== 'refused') live.ended = true;
    });
  }
}

/** Plays how a call on the wire may end: it is lost, it lands after its worker died, or it is recorded. */
function landing(world: World, call: Call, index: number, protocol: Protocol, change: Change): void {
  const without = copy(world);
  without.calls.splice(index, 1);
  change(`${call.what} lost`, () => {}, without);
  if (world.operation) {
    // The call finds the operation in progress and waits for it; the read after it shows `changing`.
    const held = read(without, protocol);
    if (held !== null) record(without, call, held, protocol, change);
    return;
  }
  if (protocol.operations) {
    const begun = { ...copy(without), operation: call.what };
    change(`${call.what} begins an operation`, () => {}, begun);
    const held = read(begun, protocol);
    if (held !== null) record(begun, call, held, protocol, change);
  }
  const landed = copy(without);
  landed.held = call.what === 'grant';
  // The call returned without an effect, and the read after it cannot tell what is held.
  if (settles('unknown', !protocol.blind)) record(without, call, 'unknown', protocol, change);
  change(`${call.what} lands, worker dead`, () => {}, landed);
  record(landed, call, landed.held, protocol, change);
}

/** Plays what a call that returned writes; `held` is what was read back. */
function record(world: World, call: Call, held: Held, protocol: Protocol, change: Change): void {
  if (call.what === 'grant') {
    if (protocol.closeOnFailure && world.entitlement.state === 'granting') {
      change('grant times out, row closed', (next) => {
        next.entitlement = { state: 'absent', lastGrantCallAt: null };
        next.grants = next.grants.map((grant) =>
          grant && grant !== 'refused' ? { ...grant, ended: true } : grant,
        ) as World['grants'];
      });
    }
    const recorded = protocol.callFirst ? 'granted' : decideGranted(world.entitlement, held);
    if (recorded) {
      change(
        'grant recorded',
        (next) => {
          next.entitlement.state = recorded;
          if (protocol.callFirst) next.grants = [{ expires: next.time + LIFE, ended: false }, next.grants[1]];
        },
        world,
      );
    } else late(world, call, change);
    return;
  }
  const decision = decideRevoked(world.entitlement, {
    startedAt: call.startedAt,
    wanted: isWanted(world),
    disturbed: false,
    quarantine: protocol.quarantine,
  });
  if (!decision || decision.state === 'again') return;
  change(
    `revoke recorded, ${decision.state}`,
    (next) => {
      next.entitlement =
        decision.state === 'absent'
          ? { state: 'absent', lastGrantCallAt: null }
          : { ...next.entitlement, state: decision.state };
    },
    world,
  );
}

/** Plays what a late call records about itself after another worker took its place. */
function late(world: World, call: Call, change: Change): void {
  const state = decideLate(world.entitlement.state, call.what);
  if (state && state !== world.entitlement.state) {
    change(
      `late ${call.what} makes due`,
      (next) => {
        next.entitlement.state = state;
      },
      world,
    );
  }
}

/** Visits every state that can be reached, breadth first. Stops at the first wrong state, and returns the steps that led to it. */
function explore(standing: boolean, protocol: Protocol, operation: World['operation'] = null) {
  const start: World = {
    time: 0,
    standing,
    held: standing,
    entitlement: { state: 'absent', lastGrantCallAt: null },
    grants: [null, null],
    observed: [null, null],
    calls: [],
    grantCalls: 0,
    operation,
    bad: null,
  };
  const seen = new Set([keyOf(start)]);
  const queue: (World | null)[] = [start];
  const from: number[] = [-1];
  const labels: string[] = ['start'];
  let settled = 0;
  for (let head = 0; head < queue.length; head += 1) {
    const world = queue[head];
    if (!world) continue;
    queue[head] = null;
    const quiet = world.entitlement.state === 'absent' && world.calls.length === 0;
    if (quiet) settled += 1;
    const wrong = world.bad ?? (quiet && world.held !== world.standing ? (world.held ? 'LEAK' : 'LOST') : null);
    if (wrong) {
      const trace: string[] = [];
      for (let at = head; at >= 0; at = from[at] ?? -1) trace.unshift(labels[at] ?? '');
      return { states: seen.size, settled, wrong, trace };
    }
    each(world, protocol, (label, next) => {
      const key = keyOf(next);
      if (seen.has(key)) return;
      seen.add(key);
      queue.push(next);
      from.push(head);
      labels.push(label);
    });
  }
  return { states: seen.size, settled, wrong: null, trace: [] };
}

describe('grants never leak: every reachable state of the model', () => {
  it.each([false, true])('no leak under R1–R5 (held before: %s)', (standing) => {
    const { states, settled, wrong, trace } = explore(standing, { quarantine: Q });
    console.info(`model, held before=${standing}: ${states} states, ${settled} settled`);
    expect({ wrong, trace }).toEqual({ wrong: null, trace: [] });
    // A model that reached nothing would prove nothing.
    expect(states).toBeGreaterThan(standing ? 50 : 500_000);
    expect(settled).toBeGreaterThan(standing ? 50 : 5_000);
  });

  it('no leak while operations of the provider outlast the quarantine', () => {
    const { states, settled, wrong, trace } = explore(false, { quarantine: Q, operations: true });
    console.info(`model with operations: ${states} states, ${settled} settled`);
    expect({ wrong, trace }).toEqual({ wrong: null, trace: [] });
    expect(states).toBeGreaterThan(100_000);
    expect(settled).toBeGreaterThan(1_000);
  });

  it('takes nothing away that others grant by an operation which outlasts the request', () => {
    const { states, settled, wrong, trace } = explore(false, { quarantine: Q, operations: true }, 'neighbour');
    console.info(`model with an operation of others: ${states} states, ${settled} settled`);
    expect({ wrong, trace }).toEqual({ wrong: null, trace: [] });
    expect(settled).toBeGreaterThan(50);
  });

  it('the model can fail: taking an operation of others for what was there before revokes what they granted', () => {
    const protocol = { quarantine: Q, operations: true, believeChanging: true };
    const { wrong, trace } = explore(false, protocol, 'neighbour');
    expect(wrong, trace.join(' > ')).toBe('revoked what was held before');
  });

  it.each<[string, Protocol, boolean]>([
    [
      'taking an operation for what was there before leaks',
      { quarantine: Q, operations: true, believeChanging: true },
      false,
    ],
    ['R5 with >= leaks at the boundary', { quarantine: Q - 1 }, false],
    ['one revoke, with no quarantine, leaks', { quarantine: Number.NEGATIVE_INFINITY }, false],
    ['a call before its intent leaks', { quarantine: Q, callFirst: true }, false],
    ['a failed grant that closes its row leaks', { quarantine: Q, closeOnFailure: true }, false],
    ['a quarantine per grant leaks', { quarantine: Q, quarantinePerGrant: true }, false],
    ['managing what was held before takes it away', { quarantine: Q, ignoreStanding: true }, true],
    ['believing an unknown read after a revoke leaks', { quarantine: Q, blind: true }, false],
    ['believing an unknown observation revokes what was held before', { quarantine: Q, blind: true }, true],
  ])('the model can fail: %s', (_name, protocol, standing) => {
    const { wrong, trace } = explore(standing, protocol);
    expect(wrong, trace.join(' > ')).toBe(standing ? 'revoked what was held before' : 'LEAK');
  });
});
