import { pause } from './database.js';
import { isCollision } from './faults.js';

/** How often calls about one membership may collide before the caller gets an error. */
const mostAttempts = 40;

/**
 * Repeats a transaction while it collides with another one about the same membership. Only the server serialises them,
 * because the holder could take a lock of Belay's in the target as well.
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
