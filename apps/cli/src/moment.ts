import { endOfMoment, startOfMoment } from '@belay/contract/moments';
import { usage } from './cli-error.js';
import { readDuration } from './duration.js';

/** The forms of a time in an option, for its help. */
export const momentForms = 'a day, a time in ISO 8601, or a duration before now, for example 2h';

/**
 * Returns the start or end of a list's period in ISO 8601, from what a person wrote: a day, a time (in UTC when it has
 * no offset), or a duration before now. Throws `usage` with the name of the option.
 */
export function readMoment<Text extends string | undefined>(
  text: Text,
  { option, now, bound }: { option: string; now: Date; bound: 'start' | 'end' },
): Text extends string ? string : string | undefined;
export function readMoment(
  text: string | undefined,
  { option, now, bound }: { option: string; now: Date; bound: 'start' | 'end' },
): string | undefined {
  if (text === undefined) return undefined;
  const ago = readDuration(text);
  if (ago !== undefined) return new Date(now.getTime() - ago).toISOString();
  const given = text.trim().replace(' ', 'T');
  const at = bound === 'start' ? startOfMoment(given) : endOfMoment(given);
  // JavaScript's parser accepts more than ISO 8601, such as the name of a month.
  if (!/^\d{4}-\d{2}-\d{2}(?:T|$)/.test(given) || Number.isNaN(at.getTime()))
    throw usage(
      `${option} must be a day, a time or a duration before now, for example 2026-01-31, 2026-01-31T09:30:00Z or 2h`,
    );
  return at.toISOString();
}
