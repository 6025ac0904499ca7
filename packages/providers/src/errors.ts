import { SystemError } from '@belay/contract/outage';
import type { Named } from './entitlement.js';

/** The call may succeed later. `afterMilliseconds` is the pause that the provider requests, if any. */
export class Retryable extends SystemError {
  override readonly name: string = 'Retryable';
  constructor(
    message: string,
    readonly options: { afterMilliseconds?: number; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
  }
}

/**
 * The provider has accepted the operation and is working on it. Not a failure: core calls again, and the requester reads
 * "Waiting for the provider" and the message. A grant stops waiting when its time for activation ends, a revocation never does.
 */
export class Pending extends Retryable {
  override readonly name = 'Pending';
}

/**
 * A revocation has removed everything that is Belay's; what is left at the provider gives the same access, and was given by others or
 * may be another person's. The message names it, and is the same at each call while the same is left. Core keeps trying until it is
 * gone, or an operator accepts exactly this (docs/architecture.md, section 6, R2).
 */
export class LeftToOthers extends Retryable {
  override readonly name = 'LeftToOthers';
}

/**
 * The identity of a grant has another name at the provider than those that were committed. Nothing was changed: core commits this name as
 * well and calls again, so that what is written under a name can always be found under it.
 */
export class Renamed extends Retryable {
  override readonly name = 'Renamed';
  constructor(readonly present: Named) {
    super('The identity was renamed at the provider');
  }
}

/** The call will not succeed when repeated. Messages can be shown to the requester and contain no secret. */
export class Terminal extends SystemError {
  override readonly name: string = 'Terminal';
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, { cause: options.cause });
  }
}

/** An error of a sign-in that is about the person: it also ends a sign-in that is checked again later. */
export class AboutPerson extends Terminal {
  override readonly name = 'AboutPerson';
}

/** The receiver accepts no more messages at this address: core sends none until the provider's configuration changes. */
export class Disabled extends Terminal {
  override readonly name = 'Disabled';
}

/** The target is not the one that the entitlement was pinned to; no access was read or changed there. */
export class OtherTarget extends Terminal {
  override readonly name = 'OtherTarget';
  constructor() {
    super("The provider's address now leads to another target than the one where the access was granted");
  }
}

/**
 * The server that responded is the target, but may lack what was last done there: it is a standby, a copy, or was restored to an earlier
 * time. Nothing was settled there. The call may succeed later, when the address leads to the right server, or an operator has decided.
 */
export class TargetDoubted extends Retryable {
  override readonly name = 'TargetDoubted';
}
