import { parseDuration } from '@belay/contract/durations';
import { z } from 'zod';

/** Returns the milliseconds of an ISO 8601 duration, or undefined for another text. */
export function readDuration(text: string): number | undefined {
  if (!text.startsWith('P')) return undefined;
  try {
    return parseDuration(text);
  } catch {
    return undefined;
  }
}

/** Returns the schema of a setting that is an ISO 8601 duration, with an example for its error. */
export function durationSetting(example: string) {
  return z
    .string()
    .refine((text) => readDuration(text) !== undefined, `is not an ISO 8601 duration, for example ${example}`);
}
