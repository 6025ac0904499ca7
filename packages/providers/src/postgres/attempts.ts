import { pause } from './database.js';
import { isCollision } from './faults.js';

/** How often calls about one membership may meet before their caller hears of it. */
const mostAttempts = 40;

/**
 * Runs a transaction again as long as it only met another about the same membership: nothing but the server serialises
 * them, since a lock of Belay's in the target would be within the holder's reach as well.
 */
export async function untilSettled<T>(signal: AbortSignal, run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run();
    } catch (error) {
      if (!isCollision(error) || attempt === mostAttempts) throw error;
      await pause(Math.min(5 * attempt, 100), signal);
    }
  }
}
