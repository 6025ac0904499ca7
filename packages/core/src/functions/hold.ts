import { type SqlText, sqlText } from '@belay/db';
import { type CallFunction, done, type Performed } from '@belay/engine';
import type { Context } from '../context.js';
import type { ElevationCall } from '../elevation/input.js';
import { readNow } from '../now.js';
import { readHold } from './progress/hold.js';

/**
 * `access.hold`: waits until the execution's grants have ended, by time or early (design §16). The move that opens it parks
 * it until then (`parks`); this is for what has changed when that time comes.
 */
export const hold = {
  parks: {
    until: (executionId: SqlText) =>
      sqlText`(select max(expires_at) from grants
        where grants.execution_id = ${executionId} and ended_at is null and expires_at > app_now())`,
    waitingFor: (until: SqlText) =>
      sqlText`'the end of the access at ' || to_char(${until} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  },
  async perform(ctx: Context, call: ElevationCall): Promise<Performed> {
    const { last, reason } = await readHold(ctx.db, call.executionId);
    if (!last) return done({ ended: true, reason });
    const now = await readNow(ctx.db);
    const because = `the end of the access at ${last.toISOString()}`;
    return { kind: 'again', after: Math.max(0, last.getTime() - now.getTime()), because };
  },
} satisfies CallFunction;
