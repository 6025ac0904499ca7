import type { CallFunction, Performed } from '@belay/engine';
import type { Json, Outcome } from '@belay/workflow';
import type { Context } from '../context.js';
import type { ElevationCall, ElevationInput } from '../plans/input.js';
import { type Plan, planElevation } from '../plans/plan.js';

/**
 * `access.validate`: checks the request again, against the current catalog and identities, and returns it with the grants that it would
 * lead to (docs/architecture.md, section 12).
 */
export const validate = {
  asks: (call: ElevationCall) => call.input.providers,
  async perform(ctx: Context, call: ElevationCall, signal: AbortSignal): Promise<Performed> {
    const plan = await planElevation(ctx, call, signal);
    return { kind: 'outcome', outcome: validated(call.input, plan) };
  },
} satisfies CallFunction;

/** Returns the outcome of `access.validate` for a plan of the request. */
export function validated(input: ElevationInput, plan: Plan): Outcome {
  const grants = plan.grants.map(({ provider, identity, access, residual, leavesBehind }) => ({
    provider,
    identity,
    access,
    residual,
    ...(leavesBehind === undefined ? {} : { leaves_behind: leavesBehind }),
  }));
  return { ok: true, value: { ...input, grants } as Json };
}
