import { parseDuration } from '@belay/contract/durations';
import { type ErrorIssue, invalid } from '@belay/contract/errors';

/** Returns the milliseconds of an ISO 8601 or short duration, or adds an issue at `path`. */
export function readDuration(text: string | undefined, path: string, issues: ErrorIssue[]): number | undefined {
  if (text === undefined) return undefined;
  try {
    const milliseconds = parseDuration(text);
    if (milliseconds > 0) return milliseconds;
    issues.push({ path, message: 'must be longer than zero' });
  } catch (error) {
    issues.push({ path, message: `"${text.slice(0, 40)}" is not a duration: ${whyNot(error)}` });
  }
  return undefined;
}

/** Returns why a text is not a duration; for a text without the form of a duration, the accepted forms. */
function whyNot(error: unknown): string {
  const reason = error instanceof RangeError ? error.message : '';
  return reason === '' || reason === 'not an ISO 8601 duration'
    ? 'use ISO 8601 (PT1H30M) or the short form (1h30m)'
    : reason;
}

/** Returns the milliseconds of a duration in a request; throws `invalid` with the field. */
export function requireDuration(text: string, path: string): number {
  const issues: ErrorIssue[] = [];
  const milliseconds = readDuration(text, path, issues);
  if (milliseconds === undefined) throw invalid(path, issues[0]?.message ?? 'is not a duration');
  return milliseconds;
}
