import { invalid } from './errors.js';

/**
 * Text from outside, as it may be stored: no longer than `limit`, well-formed, and without NUL, which no column takes.
 * Throws `invalid` naming the field.
 */
export function requireText(text: string, path: string, limit: number): string {
  if (text.length > limit) throw invalid(path, `is longer than ${limit} characters`);
  if (!text.isWellFormed() || text.includes('\0')) throw invalid(path, 'has characters that are none');
  return text;
}
