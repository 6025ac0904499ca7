import type { Transport } from '../transport/create-transport.js';
import { pageOf } from '../transport/page-of.js';
import type { CallOptions, Decided, Decision, Inbox, InboxFilter, PageOptions } from '../types.js';

/** What waits for the caller's decision. */
export interface ApprovalsResource {
  /** Returns the requests that wait for the caller's decision, or the part that `filter` and `options` select. */
  list(filter?: InboxFilter, options?: PageOptions): Promise<Inbox>;
  /** Throws `forbidden` for one's own request, `conflict` when it is decided already or has changed since it was shown. */
  decide(decision: Decision, options?: CallOptions): Promise<Decided>;
}

export function createApprovals(transport: Transport): ApprovalsResource {
  return {
    list: (filter = {}, { limit, cursor, ...options } = {}) =>
      transport.query('approvals.inbox', { ...filter, ...pageOf({ limit, cursor }) }, options),
    decide: (decision, options) => transport.mutate('approvals.decide', decision, options),
  };
}
