import { invalid } from '@belay/contract/errors';
import { isStorable, isStorableJson, unstorableMessage } from '@belay/contract/text';

/**
 * Returns text from outside that can be stored: no longer than `limit`, well-formed, and without NUL, which no column
 * accepts. Throws `invalid` with the field.
 */
export function requireText(text: string, path: string, limit: number): string {
  if (text.length > limit) throw invalid(path, `is longer than ${limit} characters`);
  if (!isStorable(text)) throw invalid(path, unstorableMessage);
  return text;
}

/**
 * Throws `invalid` for JSON from outside that is larger than `limit` or cannot be stored. The rules of `requireText` apply to every text in
 * it.
 */
export function requireJson(value: unknown, path: string, limit: number): void {
  const text = JSON.stringify(value ?? null);
  if (text.length > limit) throw invalid(path, `is larger than ${limit} characters`);
  if (!isStorableJson(value)) throw invalid(path, unstorableMessage);
}
