import { type CallFunction, done, type Performed } from '@belay/engine';
import type { Json } from '@belay/workflow';
import type { Context } from '../context.js';
import type { ElevationCall } from '../plans/input.js';
import { planElevation } from '../plans/plan.js';

/**
 * `access.validate`: checks the request again, against the current catalog and identities, and returns it with the grants that it would
 * lead to (docs/architecture.md, section 12).
 */
export const validate = {
  asks: (call: ElevationCall) => call.input.providers,
  async perform(ctx: Context, call: ElevationCall, signal: AbortSignal): Promise<Performed> {
    const plan = await planElevation(ctx, call, signal);
    return done({
      ...call.input,
      grants: plan.grants.map(({ provider, identity, access, residual, leavesBehind }) => ({
        provider,
        identity,
        access,
        residual,
        ...(leavesBehind === undefined ? {} : { leaves_behind: leavesBehind }),
      })),
    } as Json);
  },
} satisfies CallFunction;
