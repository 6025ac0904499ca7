import { ScimError } from './errors.js';

/** One comparison for equality: a path of an attribute in lower case, which may have a filter of its values, and its value. */
export interface Equal {
  path: string;
  value: string | boolean | number | null;
}

const token =
  /\s*(?:([A-Za-z][\w$.:-]*(?:\[(?:[^"\]]|"(?:[^"\\]|\\.)*")*\](?:\.[A-Za-z]\w*)?)?)|("(?:[^"\\]|\\.)*")|(-?\d+(?:\.\d+)?))/y;

/**
 * Returns the comparisons of a filter (RFC 7644, 3.4.2.2), all of which must be true. Directories look up one resource by equality,
 * so only equality is supported, joined with `and`. Throws 400 for any other filter.
 */
export function parseFilter(text: string): Equal[] {
  const rejected = (why: string) => new ScimError(400, `filter: ${why}`, 'invalidFilter');
  if (text.length > 2_000) throw rejected('is too long');
  const words: string[] = [];
  token.lastIndex = 0;
  const trimmed = text.trimEnd();
  while (token.lastIndex < trimmed.length) {
    const [all] = token.exec(trimmed) ?? [];
    if (all === undefined) throw rejected('is not a comparison such as userName eq "rita@example.com"');
    words.push(all.trim());
  }
  const found: Equal[] = [];
  for (let at = 0; at < words.length; at += 4) {
    const [path = '', operator = '', value = '', joined] = words.slice(at, at + 4);
    if (!/^[A-Za-z]/.test(path) || operator.toLowerCase() !== 'eq')
      throw rejected('only the operator "eq" is supported');
    if (joined !== undefined && (joined.toLowerCase() !== 'and' || at + 4 >= words.length)) {
      throw rejected('comparisons can only be joined with "and"');
    }
    found.push({ path: path.toLowerCase(), value: parseValue(value, rejected) });
  }
  if (found.length === 0) throw rejected('is empty');
  return found;
}

function parseValue(text: string, rejected: (why: string) => ScimError): Equal['value'] {
  try {
    const value: unknown = JSON.parse(/^(true|false|null)$/i.test(text) ? text.toLowerCase() : text);
    if (value === null || ['string', 'boolean', 'number'].includes(typeof value)) return value as Equal['value'];
  } catch {
    // Reported below.
  }
  throw rejected('has a value that is not JSON');
}
