import type { ClaimedCall, EngineContext } from '../ports.js';
import { writeAlone } from '../turns/write-alone.js';

/**
 * Writes the move that opened a call, unless its function has written it with its own commit. Returns whether the call
 * is still open: false when the execution has moved since.
 */
export async function writePending(ctx: EngineContext, call: ClaimedCall): Promise<boolean> {
  const { pending } = call;
  if (!pending) return true;
  call.pending = undefined;
  return writeAlone(ctx, pending);
}
