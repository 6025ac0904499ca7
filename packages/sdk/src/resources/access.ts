import type { Transport } from '../transport/create-transport.js';
import type { AccessList, CallOptions, Connections, Done } from '../types.js';

/** The caller's active access. */
export interface AccessResource {
  list(options?: CallOptions): Promise<AccessList>;
  /** Returns how the caller connects to the systems of one execution's access, where the provider shares that. */
  connection(executionId: string, options?: CallOptions): Promise<Connections>;
  /** Gives back all access that one execution granted, before it expires. */
  return(executionId: string, options?: CallOptions): Promise<Done>;
}

export function createAccess(transport: Transport): AccessResource {
  return {
    list: (options) => transport.query('access.list', undefined, options),
    connection: (execution_id, options) => transport.query('access.connection', { execution_id }, options),
    return: (execution_id, options) => transport.mutate('access.return', { execution_id }, options),
  };
}
