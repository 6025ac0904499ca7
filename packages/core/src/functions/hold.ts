import { type SqlText, sqlText, type Transaction } from '@belay/db';
import { type CallFunction, done, type Locked, type Performed, type Progress } from '@belay/engine';
import { readHold } from '../access/held.js';
import { isLiveOf, overAt } from '../access/wanted.js';
import type { Context } from '../context.js';
import { readNow } from '../now.js';
import type { ElevationCall } from '../plans/input.js';

/**
 * `access.hold`: waits until the execution's grants have ended, by expiry or early (docs/architecture.md, section 12). The move that opens
 * the task parks it until then (`parks`); `perform` runs when that time comes.
 */
export const hold = {
  parks: {
    until: (executionId: SqlText) => sqlText`(select max(${overAt}) from grants where ${isLiveOf(executionId)})`,
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
  progress: settleHold,
} satisfies CallFunction;

/** Returns the outcome when the execution's grants have all ended, by expiry or early; otherwise null. */
async function settleHold(_ctx: Context, tx: Transaction, execution: Locked): Promise<Progress | null> {
  const { last, reason } = await readHold(tx, execution.id);
  return last ? null : { outcome: { ok: true, value: { ended: true, reason } } };
}
