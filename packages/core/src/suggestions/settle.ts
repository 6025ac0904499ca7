import { formatDuration, parseDuration } from '@belay/contract/durations';
import type { Catalog } from '../configuration/catalog.js';
import type { SuggestedRole } from '../suggester.js';
import { longestAt, type Requestable } from './requestable.js';

/** A suggestion that can be requested unchanged. */
export interface SettledSuggestion {
  role: string;
  providers: string[];
  /** ISO 8601; never more than the role and its providers allow. */
  duration: string;
  workflow: string;
  why: string[];
}

const mostSuggestions = 5;

/**
 * Checks the results of a suggester against what the caller may request: drops roles that the caller may not request,
 * keeps only providers of the role, and limits the duration to the longest allowed. No result can add to what
 * `requestable` contains.
 */
export function settleSuggestions(
  catalog: Catalog,
  requestable: ReadonlyMap<string, Requestable>,
  answers: readonly SuggestedRole[],
): SettledSuggestion[] {
  const settled = new Map<string, SettledSuggestion>();
  for (const answer of answers) {
    const known = requestable.get(answer.role);
    if (!known || settled.has(answer.role)) continue;
    const named = known.providers.filter((id) => answer.providers?.includes(id));
    const providers = named.length > 0 ? named : known.providers;
    const longest = longestAt(catalog, known.role, providers);
    const asked = readDuration(answer.duration) ?? known.role.defaultDuration;
    settled.set(answer.role, {
      role: known.role.name,
      providers,
      duration: formatDuration(Math.min(asked, longest)),
      workflow: known.workflow,
      why: [...answer.why],
    });
    if (settled.size === mostSuggestions) break;
  }
  return [...settled.values()];
}

function readDuration(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  try {
    const milliseconds = parseDuration(text);
    return milliseconds > 0 ? milliseconds : undefined;
  } catch {
    // An unreadable duration counts as missing: the role's default applies.
    return undefined;
  }
}
