import type { Context } from '../../context.js';
import type { ClaimedCall } from '../../functions/function.js';
import { functions } from '../../functions/table.js';

/**
 * Hands a claimed call on to the lane of the systems that it asks, so that those who wait for a silent one take no places from
 * executions; returns whether it did. `perform` is told whether there was a place in time.
 */
export function handOn(ctx: Context, call: ClaimedCall, perform: (inTime: boolean) => Promise<void>): boolean {
  const systems = functions.get(call.name)?.asks?.(call) ?? [];
  if (systems.length === 0 || !ctx.waker.hand) return false;
  ctx.waker.hand({ queue: 'calls', systems }, perform);
  return true;
}
