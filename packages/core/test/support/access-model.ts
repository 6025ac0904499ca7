import {
  decideClaim,
  decideGranted,
  decideIntent,
  decideLate,
  decideRevoked,
  type EntitlementFacts,
  type Held,
  isConfirmed,
  settles,
} from '../../src/access/decide.js';
import {
  ACTIVATION,
  type Call,
  type Change,
  callKey,
  type Emit,
  END,
  type Grant,
  type Granted,
  isLeased,
  isLive,
  isWanted,
  keyOf,
  LAST_ASK,
  LEASE,
  LIFE,
  mostGrantCalls,
  type Protocol,
  Q,
  setAt,
  type World,
  wantedIn,
} from './access-world.js';

// The model of docs/architecture.md, section 6: one entitlement, two grants that may end early, two workers and a discrete
// clock. A call can be late by up to Q, be lost, or land after its worker died; its lease is shorter, so that another worker
// claims meanwhile. The result of a call is recorded later than it was read, by a statement that may see the grants as they
// were then. The holder may change the row during every call, without end. The provider may work on an operation for any
// time, which then succeeds, fails or is cancelled. The decisions are made by the functions of the service.

function each(world: World, protocol: Protocol, emit: Emit): void {
  const change: Change = (label, edit, index) => {
    const next = { ...world };
    if (index !== undefined) next.calls = next.calls.filter((_, at) => at !== index);
    edit(next);
    emit(label, next);
  };
  // R5 assumes that a call lands within Q of its claim: time does not pass a call that is still in progress.
  if (world.time < END && world.calls.every((call) => call.result || world.time < call.startedAt + Q)) {
    change('tick', (next) => {
      next.time += 1;
      // The clock of access that the provider was recorded to hold has to run.
      const late = next.grants.some(
        (grant) => isLive(grant, next.time) && grant.heldSince !== null && next.time >= grant.heldSince + LIFE,
      );
      if (late) next.bad = 'LENGTHENED';
    });
  }
  for (const index of [0, 1] as const) asking(world, index, protocol, change);
  if (world.entitlement.state !== 'absent' && world.due <= world.time && !isLeased(world))
    claim(world, protocol, change);
  // Requests that are made and cancelled during a call: they leave the row due and no grant that is live.
  if (!protocol.neverLate && !world.disturbed && isLeased(world) && world.calls.some((call) => call.current)) {
    change('the holder asks and cancels', (next) => {
      setState(next, 'granting');
      makeDue(next);
    });
  }
  world.calls.forEach((call, index) => {
    if (call.result) returned(world, index, call, call.result, protocol, change);
    else landing(world, index, call, protocol, change);
  });
  // After an end that needed no quarantine, others give the same access for good. R2 does not cover what they give between the
  // observation of a step and its intent, and a revocation of a worker that was taken over can still land.
  const observes = world.observed.some((seen, index) => seen !== null && world.grants[index] === null);
  const isOver = world.gone && world.entitlement.state === 'absent' && world.calls.length === 0;
  if (protocol.neverLate && isOver && !world.held && !observes) {
    change('others grant', (next) => {
      next.held = true;
      next.standing = true;
    });
  }
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

function setState(next: World, state: EntitlementFacts['state']): void {
  next.entitlement = { ...next.entitlement, state };
}

function makeDue(next: World): void {
  next.due = next.time;
  next.disturbed = true;
}

/** Plays a claim of a worker: it takes the lease and raises the fence, so that no earlier call is the latest any more. */
function claim(world: World, protocol: Protocol, change: Change): void {
  const { do: what } = decideClaim(world.entitlement, wantedIn(world, protocol));
  if (what === 'rest') {
    change('rest', (next) => {
      next.due = firstEnd(next) ?? next.time;
    });
    return;
  }
  if (what === 'nothing' || (what === 'grant' && world.grantCalls >= mostGrantCalls(protocol))) return;
  change(`${what} call`, (next) => {
    const { time } = next;
    const lastGrantCallAt = what === 'grant' ? time : next.entitlement.lastGrantCallAt;
    const openCalls = next.entitlement.openCalls + (what === 'grant' && protocol.neverLate ? 1 : 0);
    if (what === 'grant') next.grantCalls += 1;
    else if (next.standing) next.bad = 'revoked what was held before';
    next.entitlement = { state: what === 'grant' ? 'granting' : 'revoking', lastGrantCallAt, openCalls };
    next.due = time + LEASE;
    next.leaseUntil = next.due;
    next.disturbed = false;
    // Any number of workers whose call has returned too late record the same.
    const late = new Map(
      next.calls.map((call) => {
        const lost = protocol.ignoreFence ? { ...call, current: false } : forgetful(call);
        return [callKey(lost), lost];
      }),
    );
    next.calls = [...late.values(), { what, startedAt: time, current: true, lastGrantCallAt, openCalls, result: null }];
  });
}

/** Returns a call whose fence was lost, without what its record does not read. */
function forgetful(call: Call): Call {
  const result = call.result && { seen: false, wanted: false, exists: [false, false] as [boolean, boolean] };
  const startedAt = result ? 0 : call.startedAt;
  return { ...call, current: false, lastGrantCallAt: null, openCalls: 0, startedAt, result };
}

/** Returns when the first of the live grants ends, of those that `seen` names. */
const firstEnd = (world: World, seen: readonly boolean[] = [true, true]): number | null =>
  world.grants.reduce<number | null>((first, grant, index) => {
    if (!isLive(grant, world.time) || !seen[index]) return first;
    return Math.min(first ?? Number.POSITIVE_INFINITY, grant.expires ?? grant.by);
  }, null);

/** Returns what a read of the provider shows; null where the read settles nothing. */
function read(world: World, protocol: Protocol): Held | null {
  if (!world.operation || protocol.believeChanging) return world.held;
  return settles('changing', !protocol.blind) ? world.held : null;
}

/** Plays a grant step: it observes, and later intends or rejects; a grant may end early. */
function asking(world: World, index: 0 | 1, protocol: Protocol, change: Change): void {
  const grant = world.grants[index];
  const observed = world.observed[index];
  if (grant === null && observed === null && world.time <= LAST_ASK) {
    const held = read(world, protocol);
    if (held !== null) {
      change(`${index} observes ${held}`, (next) => {
        next.observed = setAt(next.observed, index, held);
      });
    }
    // An observation that settles nothing leaves the world as it was: the step repeats it.
    if (settles('unknown', !protocol.blind)) {
      change(`${index} observes nothing`, (next) => {
        next.observed = setAt(next.observed, index, 'unknown');
      });
    }
  }
  if (grant === null && observed !== null && protocol.callFirst) {
    if (!observed && world.grantCalls < mostGrantCalls(protocol)) {
      change(`${index} calls without intent`, (next) => {
        next.grants = setAt(next.grants, index, 'refused');
        next.grantCalls += 1;
        const call = {
          what: 'grant' as const,
          startedAt: next.time,
          current: true,
          lastGrantCallAt: null,
          openCalls: 0,
          result: null,
        };
        next.calls = [...next.calls, call];
      });
    }
  } else if (grant === null && observed !== null) {
    const { state } = world.entitlement;
    const intent = decideIntent({ state, gone: world.gone }, protocol.ignoreStanding ? 'unknown' : observed);
    change(`${index} ${intent}`, (next) => {
      if (intent === 'refuse') {
        next.grants = setAt(next.grants, index, 'refused');
        return;
      }
      const granted = { by: next.time + ACTIVATION, expires: null, ended: false, heldSince: null };
      next.grants = setAt<Grant>(next.grants, index, granted);
      setState(next, intent);
      next.gone = false;
      next.stored = protocol.storeWanted === true;
      makeDue(next);
      if (protocol.quarantinePerGrant) next.entitlement = { ...next.entitlement, lastGrantCallAt: null };
    });
  }
  if (isLive(grant, world.time)) {
    change(`${index} ends early`, (next) => {
      next.grants = setAt<Grant>(next.grants, index, { ...grant, ended: true });
      next.stored = false;
      makeDue(next);
    });
  }
}

/** Plays how a call on the wire may end: it is lost, it lands after its worker died, or its worker reads back what is held. */
function landing(world: World, index: number, call: Call, protocol: Protocol, change: Change): void {
  change(`${call.what} lost, worker dead`, () => {}, index);
  const { held, operation } = world;
  const effects = [{ held, operation }];
  if (!operation) {
    const landed = call.what === 'grant';
    if (held !== landed) {
      effects.push({ held: landed, operation });
      change(
        `${call.what} lands, worker dead`,
        (next) => {
          next.held = landed;
          next.unheard ||= !call.current;
        },
        index,
      );
    }
    if (protocol.operations) effects.push({ held, operation: call.what });
  }
  for (const after of effects) {
    const reads = (seen: Held) =>
      change(
        `${call.what} returns, reads ${seen}`,
        (next) => {
          Object.assign(next, after);
          const read = { ...call, result: { seen, wanted: isWanted(next), exists: existing(next) } };
          next.calls = [...next.calls, call.current || protocol.ignoreFence ? read : forgetful(read)];
          // The call is applied once more, after it returned.
          if (protocol.lagging && call.what === 'grant') next.calls = [...next.calls, forgetful(call)];
        },
        index,
      );
    // The record of a call whose fence was lost reads no result.
    if (!call.current && !protocol.ignoreFence) {
      reads(false);
      continue;
    }
    change(`${call.what} fails`, (next) => fail(Object.assign(next, after), call, protocol), index);
    if (protocol.neverLate && call.what === 'grant' && after === effects[0]) {
      const aborted = (next: World) => {
        fail(next, call, protocol);
        next.calls = [...next.calls, forgetful(call)];
      };
      change(`${call.what} is aborted, and goes on`, aborted, index);
    }
    const seen = protocol.believeReturn ? call.what === 'grant' : read({ ...world, ...after }, protocol);
    // What the provider denies is recorded as a failure.
    if (seen !== null && isConfirmed(call.what, seen)) reads(seen);
    if (settles('unknown', !protocol.blind)) reads('unknown');
  }
}

const existing = ({ grants: [one, other] }: World): [boolean, boolean] => [isGranted(one), isGranted(other)];
const isGranted = (grant: Grant): grant is Granted => grant !== null && grant !== 'refused';

const nothing: EntitlementFacts = { state: 'absent', lastGrantCallAt: null, openCalls: 0 };

/** Plays that a grant call's own record ends its count. */
function endCount(next: World): void {
  next.entitlement = { ...next.entitlement, openCalls: next.entitlement.openCalls - 1 };
}

/** Plays a call that failed, or whose read settled nothing: nothing is known, so it is due again. */
function fail(next: World, call: Call, protocol: Protocol): void {
  if (!call.current && !protocol.ignoreFence) {
    late(next, call, protocol);
    return;
  }
  next.leaseUntil = next.time;
  next.due = next.time;
  if (protocol.countFailures && call.what === 'grant') endCount(next);
  if (!protocol.closeOnFailure || next.entitlement.state !== 'granting') return;
  next.entitlement = nothing;
  next.grants = next.grants.map((grant) => (isGranted(grant) ? { ...grant, ended: true } : grant)) as World['grants'];
}

/** Plays what a call that returned writes, by a statement that sees the grants of now, or those of the read. */
function returned(
  world: World,
  index: number,
  call: Call,
  result: NonNullable<Call['result']>,
  protocol: Protocol,
  change: Change,
): void {
  // A worker that dies before the record left the same as one that died when its call landed.
  const now = { wanted: isWanted(world), exists: existing(world) };
  const record = (view: Pick<typeof result, 'wanted' | 'exists'>, when: string) =>
    change(
      `${call.what} recorded, grants of ${when}`,
      (next) => {
        if (!call.current && !protocol.ignoreFence) late(next, call, protocol);
        else if (call.what === 'grant') recordGrant(next, call, { ...result, ...view }, protocol);
        else recordRevoke(next, call, view.wanted, protocol);
      },
      index,
    );
  record(now, 'now');
  const differs = now.wanted !== result.wanted || now.exists.some((one, at) => one !== result.exists[at]);
  if (call.current && differs) record(result, 'the read');
}

function recordGrant(next: World, call: Call, result: NonNullable<Call['result']>, protocol: Protocol): void {
  const { time, entitlement, disturbed } = next;
  if (protocol.callFirst) {
    next.entitlement = { state: 'granted', lastGrantCallAt: call.startedAt, openCalls: 0 };
    next.grants = [{ by: time, expires: time + LIFE, ended: false, heldSince: null }, next.grants[1]];
    next.due = time + LIFE;
    return;
  }
  const changed = disturbed && !protocol.settleDisturbed;
  const decision = decideGranted(entitlement, { held: result.seen, changed });
  if (!decision) {
    late(next, call, protocol);
    return;
  }
  next.grants = next.grants.map((grant, index) => {
    if (!isLive(grant, time) || !result.exists[index] || grant.expires !== null) return grant;
    const starts = !(protocol.postponeClocks && decision === 'again');
    return starts ? { ...grant, expires: time + LIFE } : { ...grant, heldSince: grant.heldSince ?? time };
  }) as World['grants'];
  setState(next, decision === 'again' ? 'granting' : decision);
  if (result.seen === true && protocol.neverLate) endCount(next);
  next.due = decision === 'again' ? time : (firstEnd(next, result.exists) ?? time);
  next.leaseUntil = time;
}

function recordRevoke(next: World, call: Call, wanted: boolean, protocol: Protocol): void {
  const { time, entitlement } = next;
  const decision = decideRevoked(
    {
      state: entitlement.state,
      lastGrantCallAt: call.lastGrantCallAt,
      openCalls: protocol.countNothing ? 0 : call.openCalls,
    },
    {
      startedAt: call.startedAt,
      wanted: protocol.storeWanted ? next.stored : wanted,
      disturbed: next.disturbed && !protocol.settleDisturbed,
      quarantine: protocol.quarantine,
      neverLate: protocol.neverLate === true,
    },
  );
  if (!decision) return;
  next.leaseUntil = time;
  next.due = decision.state === 'revoking' ? decision.notBefore : time;
  if (decision.state === 'absent' || decision.state === 'revoking') next.gone = true;
  if (decision.state === 'absent') next.entitlement = nothing;
  else setState(next, decision.state === 'again' ? 'revoking' : decision.state);
}

/** Plays what a late call records about itself after another worker took its place. */
function late(next: World, call: Call, protocol: Protocol): void {
  const state = decideLate(next.entitlement.state, call.what);
  if (!state || protocol.silentLate) return;
  setState(next, state);
  makeDue(next);
}

/** Returns what is wrong in a world, or null. */
function judge(world: World, quiet: boolean, protocol: Protocol): string | null {
  const { bad, held, standing, calls, unheard, operation, due, time, entitlement } = world;
  if (bad) return bad;
  // R5: while the count is zero, no grant call can still land.
  const isOpen = calls.some(({ what, result }) => what === 'grant' && result === null);
  if (protocol.neverLate && isOpen && entitlement.state !== 'absent' && entitlement.openCalls === 0) return 'UNCOUNTED';
  if (quiet && held !== standing && !isWanted(world)) return held ? 'LEAK' : 'LOST';
  // When nothing is on its way, a difference from what is wanted must be due.
  if (calls.length > 0 || isLeased(world) || unheard || operation || standing) return null;
  const waits = world.grants.some((grant) => isLive(grant, time) && grant.expires === null);
  const differs = held !== isWanted(world) || waits;
  return differs && (entitlement.state === 'absent' || due > time) ? 'FORGOTTEN' : null;
}

/** Visits every state that can be reached, breadth first. Stops at the first wrong state, and returns the steps that led to it. */
export function explore(standing: boolean, protocol: Protocol, operation: World['operation'] = null) {
  const start: World = {
    time: 0,
    standing,
    held: standing,
    entitlement: nothing,
    gone: false,
    due: 0,
    leaseUntil: 0,
    disturbed: false,
    grants: [null, null],
    observed: [null, null],
    calls: [],
    grantCalls: 0,
    unheard: false,
    stored: false,
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
    const wrong = judge(world, quiet, protocol);
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
