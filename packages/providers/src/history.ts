/** What one transaction, or one request, of a call read about the server that responded to it. */
export interface Sighting {
  /** The target's fingerprint, as `Authorizer.target` returns it. */
  target: string;
  /** Why this server can settle nothing now, as the end of "The server …" (for example "is a standby"); null when it can. */
  unsettling: string | null;
  /** Identifies the running server, so that one call is not answered by two of them; null when that cannot be told. */
  instance: string | null;
  /** How far the server's history has come, in the connector's own form, which `compare` reads; null when that cannot be told. */
  position: string | null;
  /** Belay's mark, as this connector's account wrote it; null without one. */
  mark: string | null;
  /** Marks that other accounts of Belay wrote at the same target. */
  otherMarks: readonly string[];
}

/**
 * Decides whether the server that responded may be believed: returns, or throws `TargetDoubted`. `look` reads the sighting in the
 * transaction that waits for the decision; it is called again when the first sighting may have been overtaken.
 */
export type Trust = (look: () => Promise<Sighting>) => Promise<void>;

/** How the position of a server compares with an earlier one of the same target. */
export type Course =
  /** The same history, and not earlier. */
  | 'ahead'
  /** The server lacks something of the earlier one: it is a copy, or was restored. */
  | 'behind'
  /** Another server of the same system, which has not heard of everything yet: it may catch up. */
  | 'late'
  /** The history forked since: a standby was promoted, or the server was recovered to an earlier time. Only a mark can tell. */
  | 'forked';

/** What a connector can tell of the history of its target (docs/architecture.md, section 6, R7), as a part of its authorizer. */
export interface History<Authorizer> {
  /** Compares the position of a server with one that was read before. Pure. */
  compare(known: string, seen: string): Course;
  /** Returns the authorizer whose every transaction, the reads included, asks `trust` before its first statement. */
  trusting(trust: Trust): Authorizer;
  /**
   * Reads the sighting and writes the mark that `decide` returns, in one transaction; writes nothing for null. Returns whether the mark
   * was written: false for null, and when the account may not write one. Absent where the target has no room for a mark.
   */
  mark?(decide: (look: () => Promise<Sighting>) => Promise<string | null>, signal: AbortSignal): Promise<boolean>;
}
