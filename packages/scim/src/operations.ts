import { ScimError } from './errors.js';
import { type Body, fieldOf, toBody } from './fields.js';
import { type Path, parsePath } from './path.js';

export interface Operation {
  op: 'add' | 'replace' | 'remove';
  path: Path;
  value: unknown;
}

const most = 1_000;

/**
 * Returns the operations of a patch (RFC 7644, 3.5.2), each with a path. An operation without a path, as Okta sends it,
 * becomes one operation for each attribute of its value. Names of operations are read without regard to case, because
 * Entra sends "Replace". Throws 400 for an operation that is not valid.
 */
export function readOperations(body: Body, schema: string): Operation[] {
  const given = fieldOf(body, 'Operations');
  if (!Array.isArray(given) || given.length === 0 || given.length > most) {
    throw new ScimError(400, `Operations: must be a list of 1 to ${most} operations`, 'invalidSyntax');
  }
  return given.flatMap((one: unknown) => {
    const operation = toBody(one, 'Operations');
    const op = readOp(fieldOf(operation, 'op'));
    const path = fieldOf(operation, 'path');
    const value = fieldOf(operation, 'value');
    if (path === undefined || path === null || path === '' || isSchema(path, schema)) {
      if (op === 'remove') throw new ScimError(400, 'path: is required to remove', 'noTarget');
      return spread(op, toBody(value, 'value'), schema);
    }
    if (typeof path !== 'string') throw new ScimError(400, 'path: must be a string', 'invalidPath');
    return [{ op, path: parsePath(path, schema), value }];
  });
}

function readOp(value: unknown): Operation['op'] {
  const op = typeof value === 'string' ? value.toLowerCase() : '';
  if (op === 'add' || op === 'replace' || op === 'remove') return op;
  throw new ScimError(400, 'op: must be add, replace or remove', 'invalidSyntax');
}

function isSchema(path: unknown, schema: string): boolean {
  return typeof path === 'string' && path.toLowerCase() === schema.toLowerCase();
}

function spread(op: Operation['op'], value: Body, schema: string): Operation[] {
  const seen = new Set<string>();
  return Object.entries(value).flatMap(([key, inner]) => {
    if (isSchema(key, schema)) return spread(op, toBody(inner, schema), schema);
    if (seen.has(key.toLowerCase())) throw new ScimError(400, `${key}: is given more than once`, 'invalidValue');
    seen.add(key.toLowerCase());
    return [{ op, path: parsePath(key, schema), value: inner }];
  });
}
