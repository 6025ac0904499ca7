import type { Json } from './notifications.js';

/** What an identity may hold at a provider; plain JSON, compared by its canonical form. */
export type Access = { [key: string]: Json };

/** An entitlement at its target, in identifiers that, unlike names, do not change there. */
export interface Pin {
  /** The target's fingerprint: two addresses are the same target exactly when their fingerprints are equal. */
  target: string;
  /** The identifiers of the identity and of the access, in the connector's own shape; compared by its canonical form. */
  subject: Json;
}

/** An identity and an access by the names that people write. A name can belong to another person, or another access, later. */
export interface Named {
  identity: string;
  access: Access;
}

/**
 * An entitlement that a connector reads and revokes: by its pin, and at the pinned target alone (otherwise it throws `OtherTarget`).
 * It has no other name than those that were committed, so that what a later request calls it changes nothing
 * (docs/architecture.md, sections 1 and 6, R8).
 */
export interface Entitlement {
  /** Belay's identifier of the entitlement. A connector marks what it creates with this identifier, where the provider allows. */
  id: string;
  pin: Pin;
  /**
   * Every name under which it was committed, or found at the provider, since it was last verified as gone; the latest comes last.
   * Before anything is committed: the names that the pin was resolved from. For what a provider can only find, or keeps, by a name.
   */
  names: readonly Named[];
  /** Changes with each grant call that any process begins for this entitlement. */
  generation?: string;
}

/** An entitlement that a connector grants. */
export interface GrantedEntitlement extends Entitlement {
  /** What was committed with the latest grant that is live: the one of `names` under which, and the degree in which, it is granted. */
  name: Named;
}

/** Access that a provider lists, by the names that it has there now. */
export interface ListedEntitlement extends Named {
  /** The mark: Belay's identifier of an entitlement. Empty without a mark. */
  id: string;
  pin: Pin;
}
