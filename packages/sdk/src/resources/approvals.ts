import type { Transport } from '../transport/create-transport.js';
import type { CallOptions, Decided, Decision, Inbox } from '../types.js';

/** What waits for the caller's decision. */
export interface ApprovalsResource {
  list(options?: CallOptions): Promise<Inbox>;
  /** Throws `forbidden` for one's own request, `conflict` when it is decided already or has changed since it was shown. */
  decide(decision: Decision, options?: CallOptions): Promise<Decided>;
}

export function createApprovals(transport: Transport): ApprovalsResource {
  return {
    list: (options) => transport.query('approvals.inbox', undefined, options),
    decide: (decision, options) => transport.mutate('approvals.decide', decision, options),
  };
}
