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

/** JSON from outside, as it may be stored; the same rules for every text in it. */
export function requireJson(value: unknown, path: string, limit: number): void {
  const text = JSON.stringify(value ?? null);
  if (text.length > limit) throw invalid(path, `is larger than ${limit} characters`);
  // JSON.stringify escapes exactly what no jsonb takes: NUL and halves of characters.
  if (/\\u(0000|d[89a-f])/i.test(text)) throw invalid(path, 'has characters that are none');
}
