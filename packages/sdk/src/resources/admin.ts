import type { Transport } from '../transport/create-transport.js';
import { pageOf } from '../transport/page-of.js';
import type {
  AccessFilter,
  CallOptions,
  Done,
  HeldAccessList,
  OverdueList,
  PageOptions,
  Revoked,
  RevokeRequest,
} from '../types.js';

/** What administrators and auditors see, and administrators do (`access` of the configuration). */
export interface AdminResource {
  /** The access that people hold now, in the order of its end. */
  listAccess(filter?: AccessFilter, options?: PageOptions): Promise<HeldAccessList>;
  /** Ends matching access now; safe to repeat, and to be repeated while `more` is true. */
  revokeAccess(request: RevokeRequest, options?: CallOptions): Promise<Revoked>;
  listOverdue(options?: PageOptions): Promise<OverdueList>;
  /** Makes an overdue revocation due now. */
  retryRevocation(request: { id: string; reason: string }, options?: CallOptions): Promise<Done>;
}

export function createAdmin(transport: Transport): AdminResource {
  return {
    listAccess: (filter = {}, { limit, cursor, ...options } = {}) =>
      transport.query('admin.access', { ...filter, ...pageOf({ limit, cursor }) }, options),
    revokeAccess: (request, options) => transport.mutate('admin.revoke', request, options),
    listOverdue: ({ limit, cursor, ...options } = {}) =>
      transport.query('admin.overdue', pageOf({ limit, cursor }), options),
    retryRevocation: (request, options) => transport.mutate('admin.retry', request, options),
  };
}
