/**
 * One key out of a secret's text, for stores that keep one text under each name: a field of a JSON object, or, as the key
 * `value`, the whole of a text that is none. Undefined when there is no such key.
 */
export function readKey(text: string, key: string): string | undefined {
  const fields = parseObject(text);
  if (fields === undefined) return key === 'value' ? text : undefined;
  return textOf(fields, key);
}

/** A field of an object as text; undefined when it is missing, or no text, number or boolean. */
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
