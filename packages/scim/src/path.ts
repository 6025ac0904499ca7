import { ScimError } from './errors.js';
import { type Equal, parseFilter } from './filter.js';

/** A path of a patch (RFC 7644, 3.5.2): an attribute in lower case, a filter of its values, a sub-attribute. */
export interface Path {
  attribute: string;
  filter?: Equal[];
  sub?: string;
  /** Whether the attribute belongs to an extension, which is not stored. */
  foreign: boolean;
}

const shape = /^([A-Za-z$][\w$-]*)(?:\[([^[\]]+)\])?(?:\.([A-Za-z$][\w$-]*))?$/;

/** Returns a parsed path of a resource whose own schema is `schema`. Throws 400 for a path that is not valid. */
export function parsePath(text: string, schema: string): Path {
  const own = `${schema}:`.toLowerCase();
  const named = text.trim();
  const isOwn = named.toLowerCase().startsWith(own);
  if (/^urn:/i.test(named) && !isOwn) {
    // It is not known where the name of another schema ends: a path with `active` may be a deactivation, so it is rejected.
    if (/[:.]active\b/i.test(named)) throw invalidPath(text);
    return { attribute: named.toLowerCase(), foreign: true };
  }
  const parts = shape.exec(isOwn ? named.slice(own.length) : named);
  if (!parts) throw invalidPath(text);
  const [, attribute = '', filter, sub] = parts;
  return {
    attribute: attribute.toLowerCase(),
    ...(filter === undefined ? {} : { filter: parseFilter(filter) }),
    ...(sub === undefined ? {} : { sub: sub.toLowerCase() }),
    foreign: false,
  };
}

export function invalidPath(text: string): ScimError {
  return new ScimError(400, `path: ${text.slice(0, 100)} is not an attribute that can be changed`, 'invalidPath');
}
