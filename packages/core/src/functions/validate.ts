import type { Json } from '@belay/workflow';
import { planElevation } from '../elevation/plan.js';
import { type CallFunction, done } from './function.js';

/** `access.validate`: checks the request again, against the catalog and the identities of now; answers it resolved (design §16). */
export const validate: CallFunction = {
  asks: (call) => call.input.providers,
  async perform(ctx, call, signal) {
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
};
