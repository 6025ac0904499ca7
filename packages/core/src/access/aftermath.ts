import type { Context } from '../context.js';

/** What can be left of access at a provider after it was taken away. */
export interface Aftermath {
  /** How long access can outlive its revocation at worst, ISO 8601. */
  residual: string;
  /** What the holder may leave behind that a revocation does not remove, in a sentence; null for nothing. */
  leaves_behind: string | null;
}

/** Returns what can be left of access at a provider, as its connector says now. */
export function aftermathOf(ctx: Context, provider: string): Aftermath {
  const authorizer = ctx.catalog.client(provider)?.authorizer;
  return { residual: authorizer?.residual ?? 'PT0S', leaves_behind: authorizer?.leavesBehind ?? null };
}
