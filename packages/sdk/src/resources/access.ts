import type { Transport } from '../transport/create-transport.js';
import type { AccessList, CallOptions, Connections, Done } from '../types.js';

/** What the caller holds right now. */
export interface AccessResource {
  list(options?: CallOptions): Promise<AccessList>;
  /** Returns with what the caller connects to the systems of one execution's access, where that is shared. */
  connection(executionId: string, options?: CallOptions): Promise<Connections>;
  /** Gives back everything that one execution granted, before its time is over. */
  return(executionId: string, options?: CallOptions): Promise<Done>;
}

export function createAccess(transport: Transport): AccessResource {
  return {
    list: (options) => transport.query('access.list', undefined, options),
    connection: (execution_id, options) => transport.query('access.connection', { execution_id }, options),
    return: (execution_id, options) => transport.mutate('access.return', { execution_id }, options),
  };
}
