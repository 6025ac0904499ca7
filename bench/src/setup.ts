import { type Belay, type BelayOptions, openBelay } from './belay/open.js';
import { openPostgres } from './postgres.js';

export type { Belay as Bench, BelayOptions as BenchOptions } from './belay/open.js';

/** Opens a whole Belay on a durable PostgreSQL of its own, with memory providers and a worker in this process. */
export async function openBench(options: BelayOptions): Promise<Belay> {
  const postgres = await openPostgres();
  const belay = await openBelay(await postgres.database('belay'), options);
  return {
    ...belay,
    async close() {
      await belay.close();
      await postgres.stop();
    },
  };
}
