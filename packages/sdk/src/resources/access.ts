import type { Transport } from '../transport/create-transport.js';
import type { AccessList, CallOptions, Done } from '../types.js';

/** What the caller holds right now. */
export interface AccessResource {
  list(options?: CallOptions): Promise<AccessList>;
  /** Gives back everything that one execution granted, before its time is over. */
  return(executionId: string, options?: CallOptions): Promise<Done>;
}

export function createAccess(transport: Transport): AccessResource {
  return {
    list: (options) => transport.query('access.list', undefined, options),
    return: (execution_id, options) => transport.mutate('access.return', { execution_id }, options),
  };
}
