/**
 * Returns one key of a secret's text, for stores with one text per name: a field of a JSON object or, as the key
 * `value`, the whole of any other text. Returns undefined when there is no such key.
 */
export function readKey(text: string, key: string): string | undefined {
  const fields = parseObject(text);
  if (fields === undefined) return key === 'value' ? text : undefined;
  return textOf(fields, key);
}

/** Returns a field of an object as text; undefined when it is missing, or not a text, number or boolean. */
export function textOf(fields: object, key: string): string | undefined {
  if (!Object.hasOwn(fields, key)) return undefined;
  const value = (fields as Record<string, unknown>)[key];
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
}

function parseObject(text: string): object | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return parsed !== null && typeof parsed === 'object' && !Array.isArray(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}
