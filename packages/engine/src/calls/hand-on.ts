import type { ClaimedCall, EngineContext } from '../ports.js';

/**
 * Moves a claimed call to the lane of the systems that it calls, so that calls to a silent system take no places from
 * executions; returns whether it did. `perform` is told whether there was a place in time.
 */
export function handOn(ctx: EngineContext, call: ClaimedCall, perform: (inTime: boolean) => Promise<void>): boolean {
  const systems = ctx.host.functions.get(call.name)?.asks?.(call) ?? [];
  if (systems.length === 0 || !ctx.waker.hand) return false;
  ctx.waker.hand({ queue: 'calls', systems }, perform);
  return true;
}
