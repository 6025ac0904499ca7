// JavaScript, because a worker thread loads it too, and cannot load TypeScript when the tests run the sources.
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { compilePattern } from './pattern.js';

/** @typedef {import('../types.js').Json} Json */
/** @typedef {import('ajv').ValidateFunction} ValidateFunction */
/** @typedef {[pointer: string, message: string][]} Differences */

const LIMIT = 500;
const MOST_DIFFERENCES = 20;
/** @type {Map<string, ValidateFunction | Error>} */
const known = new Map();
/** @type {WeakMap<object, ValidateFunction>} */
const validators = new WeakMap();

/** Replaces `RegExp` for `pattern` and `patternProperties`, because these are matched against texts of requests. */
const regExp = Object.assign(
  (/** @type {string} */ source) => {
    try {
      return compilePattern(source);
    } catch (error) {
      throw new Error(`the pattern ${JSON.stringify(source)} ${error instanceof Error ? error.message : 'is wrong'}`);
    }
  },
  { code: 'compilePattern' },
);

// `addUsedSchema: false`, because two workflows may use the same $id for different schemas.
const ajv = new Ajv2020({
  strict: false,
  allErrors: true,
  addUsedSchema: false,
  logger: false,
  code: { regExp },
});
formats.default(ajv);

/**
 * Returns the differences of a value from a JSON Schema (2020-12), at most twenty, without quoting the value. Throws
 * when the schema itself is wrong or refers to something outside of itself.
 * @param {Json} schema @param {Json} value
 * @returns {Differences}
 */
export function listDifferences(schema, value) {
  const validate = compileSchema(schema);
  if (validate(value)) return [];
  return (validate.errors ?? []).slice(0, MOST_DIFFERENCES).map(describe);
}

/**
 * Returns a difference: at the missing property itself rather than its parent, and with the allowed values of an `enum`.
 * @param {import('ajv').ErrorObject} error
 * @returns {[string, string]}
 */
function describe({ keyword, instancePath, message, params }) {
  if (keyword === 'required') return [`${instancePath}/${String(params.missingProperty)}`, 'is required'];
  if (keyword === 'enum') {
    return [instancePath, `must be one of ${/** @type {unknown[]} */ (params.allowedValues).join(', ')}`];
  }
  return [instancePath, message ?? 'does not match the schema'];
}

/**
 * Compiles a schema once for all definitions that contain the same text. Throws when the schema is wrong.
 * @param {Json} schema
 * @returns {ValidateFunction}
 */
export function compileSchema(schema) {
  const isReference = typeof schema === 'object' && schema !== null;
  const cached = isReference ? validators.get(schema) : undefined;
  if (cached) return cached;
  const text = JSON.stringify(schema);
  let found = known.get(text);
  if (!found) {
    found = compile(schema);
    if (known.size >= LIMIT) known.clear();
    known.set(text, found);
  }
  if (found instanceof Error) throw found;
  if (isReference) validators.set(schema, found);
  return found;
}

/**
 * @param {Json} schema
 * @returns {ValidateFunction | Error}
 */
function compile(schema) {
  try {
    if (typeof schema !== 'boolean' && (typeof schema !== 'object' || schema === null || Array.isArray(schema))) {
      return new Error('a schema must be an object or a boolean');
    }
    // Drafts 6 and 7 do not differ from 2020-12 in what these documents use, so `$schema` is ignored.
    const { $schema: _draft, ...rest } = typeof schema === 'object' ? schema : {};
    return ajv.compile(typeof schema === 'object' ? rest : schema);
  } catch (error) {
    return error instanceof Error ? error : new Error('not a schema');
  }
}
