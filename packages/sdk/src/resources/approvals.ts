import type { Transport } from '../transport/create-transport.js';
import { pageOf } from '../transport/page-of.js';
import type {
  Approvers,
  BulkDecided,
  BulkDecision,
  CallOptions,
  Decided,
  Decision,
  Inbox,
  InboxFilter,
  PageOptions,
} from '../types.js';

/** The requests that wait for the caller's decision. */
export interface ApprovalsResource {
  /** Returns the requests that wait for the caller's decision, or the part that `filter` and `options` select. */
  list(filter?: InboxFilter, options?: PageOptions): Promise<Inbox>;
  /** Throws `forbidden` for the caller's own request, and `conflict` when it is already decided or has changed since it was shown. */
  decide(decision: Decision, options?: CallOptions): Promise<Decided>;
  /**
   * Decides several requests for the same access one by one; `results` has the result of each. Before any decision,
   * throws `invalid` when the requests differ in role, systems, access or duration, and `forbidden` for a role whose
   * requests are decided one by one in Belay.
   */
  decideMany(decision: BulkDecision, options?: CallOptions): Promise<BulkDecided>;
  /** Returns the people who can decide; `id` is the id of the approval or of its execution. */
  approvers(id: string, options?: CallOptions): Promise<Approvers>;
}

export function createApprovals(transport: Transport): ApprovalsResource {
  return {
    list: (filter = {}, { limit, cursor, ...options } = {}) =>
      transport.query('approvals.inbox', { ...filter, ...pageOf({ limit, cursor }) }, options),
    decide: (decision, options) => transport.mutate('approvals.decide', decision, options),
    decideMany: (decision, options) => transport.mutate('approvals.decideMany', decision, options),
    approvers: (id, options) => transport.query('approvals.approvers', { id }, options),
  };
}
