import { Retryable } from './errors.js';

/** How far the history of a target has come: counters as decimal numbers, by name. None of them ever falls. */
export type Position = Readonly<Record<string, string>>;

/** Returns whether a target at `now` lacks something that one at `seen` has. A counter that is not there counts as lower. */
export function isBehind(now: Position, seen: Position): boolean {
  return Object.entries(seen).some(([name, count]) => now[name] === undefined || BigInt(now[name]) < BigInt(count));
}

/** Returns the position that has everything that either has. */
export function joinPositions(one: Position, other: Position): Position {
  const joined: Record<string, string> = { ...one };
  for (const [name, count] of Object.entries(other)) {
    const known = joined[name];
    if (known === undefined || BigInt(known) < BigInt(count)) joined[name] = count;
  }
  return joined;
}

/**
 * Remembers how far a target had come, for as long as the process runs: a server behind the same address that lacks a part of it
 * is a replica that lags behind, another server, or one that was restored, and what it returns settles nothing.
 */
export interface History {
  /** Throws `Retryable` when the server lacks something that was seen before. */
  require(now: Position): void;
}

/** `server` names the kind of server in the error: `The directory`. */
export function createHistory(server: string): History {
  let seen: Position = {};
  return {
    require(now) {
      if (isBehind(now, seen)) {
        throw new Retryable(
          `${server} lacks changes that it had before, as a replica that lags behind or a restored copy does: what it returns may be outdated`,
        );
      }
      seen = joinPositions(seen, now);
    },
  };
}
