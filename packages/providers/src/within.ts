/** Keeps both parts of a joined signal alive: Node.js 20 holds them weakly, and a collected timeout never fires. */
const sources = new WeakMap<AbortSignal, readonly AbortSignal[]>();

/** Returns a signal that aborts together with another one, or after a time in milliseconds. */
export function within(signal: AbortSignal, milliseconds: number): AbortSignal {
  const limit = AbortSignal.timeout(milliseconds);
  const either = AbortSignal.any([signal, limit]);
  sources.set(either, [signal, limit]);
  return either;
}
