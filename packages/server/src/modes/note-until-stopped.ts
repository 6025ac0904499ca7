import { type Context, noteReachable } from '@belay/core';
import type { Closing } from '@belay/program';

/** Notes every few seconds that this server can be reached: the leases of runs count no other time. */
export function noteUntilStopped(context: Context, closing: Pick<Closing, 'add'>): void {
  const stopping = new AbortController();
  const loop = async () => {
    while (!stopping.signal.aborted) {
      // A database that is away is not written: that is what the note is for.
      await noteReachable(context).catch(() => {});
      await context.delay(context.timing.run.note, stopping.signal).catch(() => {});
    }
  };
  const running = loop();
  closing.add('The notes that the server can be reached', async () => {
    stopping.abort();
    await running;
  });
}
