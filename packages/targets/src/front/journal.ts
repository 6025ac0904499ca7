/** One request that reached the front, in the order of arrival. */
export interface Entry {
  number: number;
  /** When it arrived, by the clock of the front. */
  at: number;
  method: string;
  /** With its query. */
  path: string;
  /** What was sent: JSON where it is JSON, text otherwise, undefined when there was nothing. */
  body: unknown;
  /** What was done with it: `forward`, or the name of the fault. */
  act: string;
  /** What the target answered, and when; absent while it was not asked, or did not answer. */
  target?: { at: number; status: number; body: unknown };
  /** The status that the caller got, and when; `lost` when the connection was cut instead. Absent until then. */
  answered?: { at: number; status: number | 'lost' };
}

/** What a request that the target has carried out did to a person's access. */
export interface Effect {
  /** Whose access to what, in any form that is equal for the same. */
  key: string;
  held: boolean;
}

/** A time in which the target held something: `to` is absent while it still does. */
export interface Held {
  key: string;
  from: number;
  to?: number;
}

/**
 * Returns when the target held what, in the order of the beginnings, from what the target itself answered, so that an answer that was
 * lost counts. `effectOf` is asked only about requests that the target answered with 2xx.
 */
export function findHeld(journal: readonly Entry[], effectOf: (entry: Entry) => Effect | undefined): Held[] {
  const applied = journal
    .filter(({ target }) => target !== undefined && target.status >= 200 && target.status < 300)
    .sort((one, other) => (one.target?.at ?? 0) - (other.target?.at ?? 0) || one.number - other.number);
  const found: Held[] = [];
  const open = new Map<string, Held>();
  for (const entry of applied) {
    const effect = effectOf(entry);
    if (!effect) continue;
    const at = entry.target?.at ?? entry.at;
    const held = open.get(effect.key);
    if (effect.held && !held) {
      const begun: Held = { key: effect.key, from: at };
      found.push(begun);
      open.set(effect.key, begun);
    } else if (!effect.held && held) {
      held.to = at;
      open.delete(effect.key);
    }
  }
  return found;
}
