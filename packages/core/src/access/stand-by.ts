import { entitlements } from '@belay/db';
import { type Authorizer, within } from '@belay/providers';
import { ne } from 'drizzle-orm';
import { publicMessage } from '../catalog/authorizer.js';
import type { Store } from '../context.js';
import { renewMark } from './history/renew.js';

interface Standing {
  /** When this process last had a reason to stand by, by its own clock. */
  since: number;
  calling: boolean;
  failing: boolean;
}

/**
 * The authorizers at which this process stands by. A replaced authorizer closes its own connections, and its entry here is
 * dropped with it.
 */
const standing = new WeakMap<Authorizer, Standing>();

/**
 * Makes the connector open what a revocation needs before a grant is intended, because the holder of the access may use
 * up such resources afterwards, for example all connections. Throws the error of the connector; then nothing is
 * granted.
 */
export async function standByFor(
  ctx: Store,
  provider: string,
  authorizer: Authorizer,
  signal: AbortSignal,
): Promise<void> {
  if (!authorizer.standBy && !authorizer.history) return;
  note(ctx, authorizer);
  await authorizer.standBy?.(signal);
  await renewMark(ctx, provider, authorizer);
}

/**
 * Stands by at every provider where access is held or owed, and stands down at a provider that has held nothing for
 * `timing.standDown`. Every worker calls it regularly, so that a restarted worker stands by again. Resolves when the
 * calls have started: no provider waits for another, and none is called again before it has responded. `finished`
 * resolves when they have ended; their errors are logged.
 */
export async function standByHeld(ctx: Store, signal: AbortSignal): Promise<{ finished: Promise<void> }> {
  const rows = await ctx.db
    .selectDistinct({ provider: entitlements.provider })
    .from(entitlements)
    .where(ne(entitlements.state, 'absent'));
  const held = new Set(rows.map(({ provider }) => provider));
  // One listener for all calls, because Node.js warns about more than ten on one signal. The stop signal is not joined
  // to each call, because it lives as long as the process and would collect listeners.
  const round = new AbortController();
  const abort = () => round.abort();
  signal.addEventListener('abort', abort);
  const calls = [...ctx.catalog.current().providers.keys()].map((provider) => {
    const authorizer = ctx.catalog.client(provider)?.authorizer;
    if (!authorizer?.standBy && !authorizer?.history) return undefined;
    if (held.has(provider)) note(ctx, authorizer);
    return keep(ctx, provider, authorizer, round.signal);
  });
  const finished = Promise.all(calls).then(() => signal.removeEventListener('abort', abort));
  return { finished };
}

function note(ctx: Store, authorizer: Authorizer): void {
  const since = ctx.clock().getTime();
  const state = standing.get(authorizer);
  if (state) state.since = since;
  else standing.set(authorizer, { since, calling: false, failing: false });
}

async function keep(ctx: Store, provider: string, authorizer: Authorizer, stop: AbortSignal): Promise<void> {
  const state = standing.get(authorizer);
  if (!state || state.calling) return;
  // Between a read and the commit of its intent nothing is held yet, which is no reason to stand down.
  const { since } = state;
  const over = ctx.clock().getTime() - since > ctx.timing.standDown;
  state.calling = true;
  const call = within(stop, ctx.timing.callTimeout);
  try {
    if (over) {
      await authorizer.standDown?.();
      if (state.since === since) standing.delete(authorizer);
      return;
    }
    await authorizer.standBy?.(call);
    await renewMark(ctx, provider, authorizer);
    if (state.failing) ctx.log.info({ provider }, 'the provider can be reached for revocations again');
    state.failing = false;
  } catch (error) {
    if (!state.failing && !stop.aborted) {
      ctx.log.error({ provider, error }, `revocations may not reach the provider: ${publicMessage(error)}`);
    }
    state.failing = true;
  } finally {
    state.calling = false;
  }
}
