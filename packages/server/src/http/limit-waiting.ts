import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import { stateOf } from '@belay/rest';

/** How often requests that are in progress are checked, in milliseconds. */
const interval = 250;
/** The database keeps requests waiting when a statement has had no response for this long, in milliseconds. */
const slow = 500;

export interface WaitingLimit {
  /** How long a request may take while the database keeps it waiting, in milliseconds. */
  limit: number;
  /** Returns for how long the oldest statement without a response has waited for the database, in milliseconds. */
  waited(): number;
  delay(milliseconds: number): Promise<void>;
  /** Sends the error for a request that took too long. */
  late(request: IncomingMessage, response: ServerResponse): void;
  now?(): number;
}

/**
 * Returns a function that limits how long a request may take while the database keeps it waiting, however often it waits
 * (decision 0155). The work of a request that was ended as late continues, and is stored whole or not at all.
 */
export function limitWaiting(options: WaitingLimit): (request: IncomingMessage, response: ServerResponse) => void {
  const { limit, waited, delay, late, now = () => performance.now() } = options;
  const open = new Map<ServerResponse, { request: IncomingMessage; begun: number }>();
  let watching = false;

  async function watch(): Promise<void> {
    watching = true;
    while (open.size > 0) {
      await delay(interval);
      if (waited() >= slow) endLate();
    }
    watching = false;
  }

  function endLate(): void {
    for (const [response, { request, begun }] of open) {
      const state = stateOf(request);
      if (response.headersSent || now() - begun < (state.mayTake ?? limit)) continue;
      state.overdue = true;
      late(request, response);
    }
  }

  return (request, response) => {
    open.set(response, { request, begun: now() });
    response.once('close', () => void open.delete(response));
    if (!watching) void watch();
  };
}
