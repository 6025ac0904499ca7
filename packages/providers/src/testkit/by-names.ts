import { Terminal } from '../errors.js';
import type { Authorizer, GrantedEntitlement, Held, Named, Pin } from '../port.js';

/** An entitlement as a test writes it. Without a pin, its names are resolved at each call. */
export interface NamedEntitlement extends Named {
  id: string;
  pin?: Pin;
  /** The names that were committed with it; without them, its own. */
  names?: readonly Named[];
  generation?: string;
}

/** An authorizer whose calls take entitlements as a test writes them. */
export interface ByNames extends Omit<Authorizer, 'holds' | 'ensurePresent' | 'ensureAbsent'> {
  holds(entitlement: NamedEntitlement, signal: AbortSignal): Promise<Held>;
  ensurePresent(entitlement: NamedEntitlement, until: Date, signal: AbortSignal): Promise<void>;
  ensureAbsent(entitlement: NamedEntitlement, signal: AbortSignal): Promise<void>;
}

/**
 * Returns an authorizer for tests that calls another one as core does: with a pin, which it resolves from the names where a test gives
 * none. What has no pin is not held, and cannot be granted. Throws for a client without an authorizer.
 */
export function byNames(authorizer: Authorizer | undefined): ByNames {
  if (!authorizer) throw new Error('The client has no authorizer');
  const resolve = async (one: NamedEntitlement, signal: AbortSignal): Promise<GrantedEntitlement | null> => {
    const { id, identity, access, generation } = one;
    const name = { identity, access };
    const pin = one.pin ?? (await authorizer.pin(name, signal));
    return pin && { id, pin, name, names: one.names ?? [name], ...(generation === undefined ? {} : { generation }) };
  };
  return {
    ...authorizer,
    async holds(one, signal) {
      const entitlement = await resolve(one, signal);
      return entitlement !== null && authorizer.holds(entitlement, signal);
    },
    async ensurePresent(one, until, signal) {
      const entitlement = await resolve(one, signal);
      if (!entitlement) throw new Terminal('The identity or the access does not exist');
      await authorizer.ensurePresent(entitlement, until, signal);
    },
    async ensureAbsent(one, signal) {
      const entitlement = await resolve(one, signal);
      if (entitlement) await authorizer.ensureAbsent(entitlement, signal);
    },
  };
}
