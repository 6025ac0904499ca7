import type { ClaimedCall, EngineContext } from '../ports.js';
import { writeAlone } from '../turns/write-alone.js';

/**
 * Writes the move that opened a call, when its function has not written it with a commit of its own. Returns whether the call
 * stands: not when the execution has moved since.
 */
export async function writePending(ctx: EngineContext, call: ClaimedCall): Promise<boolean> {
  const { pending } = call;
  if (!pending) return true;
  call.pending = undefined;
  return writeAlone(ctx, pending);
}
