import type { EntitlementFacts, Held } from '../../src/access/decide.js';

// The world of the model of access, and what its moves share.

/** How long a call may take to land. The quarantine of R5 is as long. */
export const Q = 2;
export const LEASE = 1;
export const LIFE = 2;
/** How long a grant may wait for its provider: longer than its life. */
export const ACTIVATION = 3;
export const LAST_ASK = 1;
export const END = 10;

/** A grant waits, with an end by which it has to be active, or its clock runs. */
export interface Granted {
  by: number;
  expires: number | null;
  ended: boolean;
  /** When a worker recorded that the provider holds the access, and the clock did not start. */
  heldSince: number | null;
}
export type Grant = null | 'refused' | Granted;

export interface Call {
  what: 'grant' | 'revoke';
  startedAt: number;
  /** Whether its fence is the latest. */
  current: boolean;
  lastGrantCallAt: number | null;
  openCalls: number;
  /** What was read back, and the grants as they were then; null until the call has returned. */
  result: { seen: Held; wanted: boolean; exists: [boolean, boolean] } | null;
}

export interface World {
  time: number;
  standing: boolean;
  held: boolean;
  entitlement: EntitlementFacts;
  /** Whether every grant was read as gone. */
  gone: boolean;
  due: number;
  leaseUntil: number;
  /** The row was made due after its latest claim. */
  disturbed: boolean;
  grants: [Grant, Grant];
  observed: [Held | null, Held | null];
  calls: Call[];
  grantCalls: number;
  /** A call landed late and its worker died: only R5 accounts for it. */
  unheard: boolean;
  /** Whether the entitlement is wanted, in a protocol that stores it. */
  stored: boolean;
  /** What the provider has accepted and not finished; until then it reads as `changing`. `neighbour` is a grant that others made there. */
  operation: Call['what'] | 'neighbour' | null;
  bad: string | null;
}

/**
 * How a protocol may differ from ours. Each difference except `operations` is known to be wrong, which shows that the
 * model finds faults.
 */
export interface Protocol {
  quarantine: number;
  /** R1 taken out. */
  callFirst?: boolean;
  /** R2 taken out. */
  ignoreStanding?: boolean;
  /** R3 taken out: an intent stores that the entitlement is wanted, and an end that it is not. */
  storeWanted?: boolean;
  /** R4 taken out. */
  closeOnFailure?: boolean;
  /** A part of R5 taken out. */
  quarantinePerGrant?: boolean;
  /** The connector declares that its calls have landed when they return: another connector, not another protocol. */
  neverLate?: boolean;
  /** A grant call that returned is applied once more, by the connector's own mistake or its provider's. */
  lagging?: boolean;
  /** The count of open calls taken out of R5. */
  countNothing?: boolean;
  /** The count of open calls ends with every record of a grant call, also when it failed. */
  countFailures?: boolean;
  /** R6 taken out: the return of a call is its result. */
  believeReturn?: boolean;
  /** The connector never knows what is held, so that `unknown` is accepted as a result. */
  blind?: boolean;
  /** A row that was changed during the call is settled like any other. */
  settleDisturbed?: boolean;
  /** A row that was changed during the call starts no clock. */
  postponeClocks?: boolean;
  /** A result with an older fence is recorded like any other. */
  ignoreFence?: boolean;
  /** A call that returned after another claim makes nothing due. */
  silentLate?: boolean;
  /** The provider may work on a call as an operation. Such a world has one grant call fewer, because it would be too large otherwise. */
  operations?: boolean;
  /** `changing` is read as the access that was there before. */
  believeChanging?: boolean;
}

export type Emit = (label: string, world: World) => void;
/** Edits a copy of the world, without the call `index` if given. What a world contains is replaced, never changed. */
export type Change = (label: string, edit: (next: World) => void, index?: number) => void;

/** One more with `BELAY_TEST_LONG`, which takes minutes. */
const more = process.env.BELAY_TEST_LONG ? 1 : 0;
export const mostGrantCalls = ({ operations }: Protocol) => (operations ? 1 : 2) + more;

export function setAt<T>(pair: readonly [T, T], index: number, value: T): [T, T] {
  return index === 0 ? [value, pair[1]] : [pair[0], value];
}

export const isLive = (grant: Grant, time: number): grant is Granted =>
  grant !== null && grant !== 'refused' && !grant.ended && time < (grant.expires ?? grant.by);
export const isWanted = (world: World) => world.grants.some((grant) => isLive(grant, world.time));
export const wantedIn = (world: World, protocol: Protocol) => (protocol.storeWanted ? world.stored : isWanted(world));
export const isLeased = (world: World) => world.leaseUntil > world.time;

/**
 * Returns the key of a world. Two worlds that differ only in which grant is which, in the order of their calls, or in times that no
 * rule reads any more, have the same key, because the rules cannot distinguish them.
 */
export function keyOf(world: World): string {
  const { time, entitlement, calls } = world;
  const current = calls.find((call) => call.current);
  const [one, other] = [grantKey(world, 0, current), grantKey(world, 1, current)];
  const row = `${entitlement.state[0]}${entitlement.state[4]}${entitlement.lastGrantCallAt}o${entitlement.openCalls}${readsGone(world) && world.gone ? 'g' : ''}`;
  const due = `${world.due > time ? world.due : 'd'}${isLeased(world) ? world.leaseUntil : ''}${current && world.disturbed ? '!' : ''}`;
  const flags = `${world.standing ? 's' : ''}${world.held ? 'h' : 'n'}${world.unheard ? 'u' : ''}${world.stored ? 'w' : ''}${world.operation ?? ''}`;
  const sent = calls.length === 1 ? callKey(calls[0]) : calls.map(callKey).sort().join('');
  return `${time}${flags}${row};${due};${one < other ? one + other : other + one}${sent}${world.grantCalls}${world.bad ?? ''}`;
}

/** Returns whether a rule still reads `gone`: a step that can intend. */
const readsGone = ({ grants, observed, time }: World): boolean =>
  grants.some((grant, index) => grant === null && (time <= LAST_ASK || observed[index] !== null));

function grantKey(world: World, index: 0 | 1, current: Call | undefined): string {
  const grant = world.grants[index];
  const seen = current?.result?.exists[index] ? '*' : '';
  if (grant === null) {
    const observed = world.observed[index];
    if (observed === null) return world.time <= LAST_ASK ? '.' : 'x';
    return observed === 'unknown' ? 'u' : observed ? '+' : '-';
  }
  if (!isLive(grant, world.time)) return `x${seen}`;
  return grant.expires === null ? `w${grant.by}${grant.heldSince ?? ''}${seen}` : `a${grant.expires}${seen}`;
}

export function callKey(call: Call | undefined): string {
  if (!call) return '';
  const { result, current, startedAt, what } = call;
  const since = what === 'revoke' ? `${startedAt},${call.lastGrantCallAt},${call.openCalls}` : startedAt;
  if (!result) return `${what[0]}${current ? 'c' : 'l'}${since};`;
  const { seen, wanted } = result;
  return `${what[0]}${current ? 'C' : 'L'}${what === 'revoke' ? since : ''}${seen}${wanted ? 'w' : ''};`;
}
