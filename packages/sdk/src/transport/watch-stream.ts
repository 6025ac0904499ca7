import { openStream, type StreamRequest } from './open-stream.js';
import { nextDelay, type Patience, type RetryPolicy } from './retry.js';
import { isLate } from './start-deadline.js';
import { toBelayError } from './to-belay-error.js';

export interface WatchRequest extends Omit<StreamRequest, 'input'> {
  input: object;
  lastEventId?: string | undefined;
  retry: RetryPolicy;
  patience: Patience;
}

/**
 * Continues a subscription across connections: after a break, the next connection resumes after the last event that was
 * received. Throws BelayError after `streamAttempts` failures without an event between them, after the second one when
 * connecting takes too long, and at once after an error that waiting cannot fix.
 */
export async function* watchStream<Event>(request: WatchRequest): AsyncGenerator<Event, void, undefined> {
  const { retry, patience, signal } = request;
  let lastEventId = request.lastEventId;
  // The service may deliver an event late, with a lower id than the events before it. Resuming after that id repeats
  // the events with higher ids, so events that were already yielded are skipped.
  const yielded = new Set<string>();
  let failures = 0;
  for (;;) {
    try {
      const input = lastEventId === undefined ? request.input : { ...request.input, lastEventId };
      for await (const frame of openStream({ ...request, input })) {
        failures = 0;
        lastEventId = frame.id ?? lastEventId;
        if (frame.id !== undefined && yielded.has(frame.id)) continue;
        if (frame.id !== undefined) yielded.add(frame.id);
        yield frame.data as Event;
      }
      return;
    } catch (cause) {
      const error = toBelayError(cause, signal);
      failures += 1;
      // A restarting server refuses connections, which deserves many attempts; a server that accepts them but stays silent gets fewer.
      const attempts = isLate(error) ? Math.min(2, retry.streamAttempts) : retry.streamAttempts;
      const policy = { ...retry, attempts };
      const pause = nextDelay(policy, error, failures, patience.random);
      if (pause === undefined) throw error;
      await patience.delay(pause, signal);
    }
  }
}
