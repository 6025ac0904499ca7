import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { Json } from '../types.js';
import { compilePattern } from './pattern.js';

const LIMIT = 500;
const known = new Map<string, ValidateFunction | Error>();
const validators = new WeakMap<object, ValidateFunction>();

/** Stands in for `RegExp` in `pattern` and `patternProperties`: the texts that they meet come from requests. */
const regExp = Object.assign(
  (source: string) => {
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
 * The first thing in which a value differs from a JSON Schema (2020-12), without quoting the value; null when it does
 * not. Throws when the schema itself is wrong or refers to something outside of itself.
 */
export function checkSchema(schema: Json, value: Json): string | null {
  const validate = compileSchema(schema);
  if (validate(value)) return null;
  const [error] = validate.errors ?? [];
  return `${error?.instancePath || 'the value'} ${error?.message ?? 'does not match the schema'}`;
}

/** Every difference, as `[JSON pointer, message]`. Throws as `checkSchema` does. */
export function listSchemaErrors(schema: Json, value: Json): [string, string][] {
  const validate = compileSchema(schema);
  if (validate(value)) return [];
  return (validate.errors ?? []).slice(0, 20).map(describe);
}

/** What is missing is named itself, and not what it is missing in; what is allowed is said. */
function describe({ keyword, instancePath, message, params }: ErrorObject): [string, string] {
  if (keyword === 'required') return [`${instancePath}/${String(params.missingProperty)}`, 'is required'];
  if (keyword === 'enum') return [instancePath, `must be one of ${(params.allowedValues as unknown[]).join(', ')}`];
  return [instancePath, message ?? 'does not match the schema'];
}

/** Compiles a schema once for all definitions that contain the same text. Throws when the schema is wrong. */
export function compileSchema(schema: Json): ValidateFunction {
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

function compile(schema: Json): ValidateFunction | Error {
  try {
    if (typeof schema !== 'boolean' && (typeof schema !== 'object' || schema === null || Array.isArray(schema))) {
      return new Error('a schema must be an object or a boolean');
    }
    // Drafts 6 and 7 differ from 2020-12 in nothing that these documents are about, so their name is left out.
    const { $schema: _draft, ...rest } = typeof schema === 'object' ? schema : {};
    return ajv.compile(typeof schema === 'object' ? rest : schema);
  } catch (error) {
    return error instanceof Error ? error : new Error('not a schema');
  }
}
