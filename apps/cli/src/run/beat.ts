import { type BelayClient, isBelayError } from '@belay/sdk';
import { readDuration } from '../duration.js';
import type { Shell } from '../shell.js';
import { within } from '../within.js';

interface Beating {
  /** Returns the current client: the person can sign in again while the command runs. */
  client(): Promise<BelayClient>;
  run: { run_id: string; beat: string; lease: string };
  say(text: string): void;
  signal: AbortSignal;
}

/** How long one heartbeat may take, in milliseconds. */
const patience = 10_000;

/**
 * Sends the heartbeat of a run until the signal aborts. After a failure, the next heartbeat tries again; the person is told once, until the
 * server responds again. Returns early when the server has ended the run.
 */
export async function keepBeating(shell: Shell, { client, run, say, signal }: Beating): Promise<void> {
  const pause = readDuration(run.beat) ?? patience;
  let told = '';
  const tell = (text: string) => {
    if (text !== told) say(text);
    told = text;
  };
  while (!signal.aborted) {
    await shell.delay(pause, signal).catch(() => {});
    if (signal.aborted) return;
    try {
      const limit = within(signal, patience);
      await (await client()).runs.beat(run.run_id, { signal: limit });
      if (told !== '') tell('the server responds again');
      told = '';
    } catch (error) {
      if (signal.aborted) return;
      if (isBelayError(error, 'conflict') || isBelayError(error, 'not_found')) {
        say('the server has ended this run; its access is given back');
        return;
      }
      const expired = isBelayError(error, 'unauthenticated');
      tell(
        expired
          ? `your login has ended; the access ends ${run.lease} after the last heartbeat unless you sign in: belay login`
          : 'the server does not respond; the heartbeat is tried again',
      );
    }
  }
}
