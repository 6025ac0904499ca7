/** One request that reached the front, in the order of arrival. */
export interface Entry {
  number: number;
  /** When it arrived, by the clock of the front. */
  at: number;
  method: string;
  /** With its query. */
  path: string;
  /** The body of the request: parsed when it is JSON, text otherwise, undefined when it is empty. */
  body: unknown;
  /** The name of the act that handled the request, for example `forward`. */
  act: string;
  /** The target's response and its time; absent when the request was not forwarded, or until the target responds. */
  target?: { at: number; status: number; body: unknown };
  /** The status that the caller got, and its time; `lost` when the connection was cut instead. Absent until then. */
  answered?: { at: number; status: number | 'lost' };
}

/** How a request that the target has carried out changed a person's access. */
export interface Effect {
  /** Identifies the person and the access: equal keys mean the same access. */
  key: string;
  held: boolean;
}

/** A period in which the target held an access: `to` is absent while it still does. */
export interface Held {
  key: string;
  from: number;
  to?: number;
}

/**
 * Returns the periods in which the target held access, in the order of their beginnings, by the target's own responses, so that a
 * lost response counts too. `effectOf` is called only for requests with a response of 2xx.
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
