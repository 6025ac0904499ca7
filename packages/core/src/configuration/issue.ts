import type { ErrorIssue } from '@belay/contract/errors';
import { z } from 'zod';

/** An error in a configuration, with the data from which a correct name can be suggested. */
export interface ConfigurationIssue extends ErrorIssue {
  /** The unknown name that was written. */
  given?: string;
  /** Returns the names that are valid in its place. */
  known?(): Iterable<string>;
}

/** Returns the issue of an unknown name. */
export function unknownName(path: string, message: string, given: string, known: () => Iterable<string>) {
  return { path, message, given, known } satisfies ConfigurationIssue;
}

/**
 * Returns the issues of one error that a schema found in a configuration. An unknown key is an issue of its own at the path of the key.
 * No value is quoted, because any could be a secret.
 */
export function issuesOfShape(
  issue: z.core.$ZodIssue,
  schema: z.core.$ZodType,
  pathOf: (path: readonly PropertyKey[]) => string,
): ConfigurationIssue[] {
  const { path, message } = issue;
  // A mapping whose schema has its own message accepts no keys at all.
  if (issue.code === 'unrecognized_keys' && message.startsWith('Unrecognized key')) {
    const known = () => keysAt(schema, path);
    const text = `is not a known key${expectedKeys(known())}`;
    return issue.keys.map((key) => unknownName(pathOf([...path, key]), text, key, known));
  }
  // The inner issue has the reason.
  if (issue.code === 'invalid_key') return [{ path: pathOf(path), message: issue.issues[0]?.message ?? message }];
  const own = /^Invalid (input|option)/.test(message);
  if (own && issue.code === 'invalid_value') {
    const choices = issue.values.map((value) => JSON.stringify(value)).join(', ');
    const text = issue.values.length === 1 ? `must be ${choices}` : `must be one of ${choices}`;
    const given = typeof issue.input === 'string' ? issue.input : '';
    return [unknownName(pathOf(path), text, given, () => issue.values.map(String))];
  }
  if (own && issue.code === 'invalid_type') {
    return [{ path: pathOf(path), message: explainType(issue.expected, issue.input) }];
  }
  return [{ path: pathOf(path), message }];
}

const kinds: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping',
  record: 'a mapping',
};

function explainType(expected: string, given: unknown): string {
  const wanted = kinds[expected] ?? expected;
  if (given === undefined) return `is required: ${wanted}`;
  const kind = given === null ? 'empty' : Array.isArray(given) ? 'a list' : (kinds[typeof given] ?? typeof given);
  const hint = expected === 'string' && ['number', 'boolean'].includes(typeof given) ? '; put it in quotes' : '';
  return `must be ${wanted}, and is ${kind}${hint}`;
}

/** The most keys that an error lists. */
const mostKeys = 12;

function expectedKeys(known: readonly string[]): string {
  return known.length === 0 || known.length > mostKeys ? '' : `; expected: ${known.join(', ')}`;
}

/** Returns the keys of the mapping at a path of a schema; none where any key is allowed. */
function keysAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): string[] {
  let found = [schema];
  for (const key of path) found = found.flatMap((one) => partsOf(one, key));
  return [
    ...new Set(found.flatMap(formsOf).flatMap((one) => (one instanceof z.ZodObject ? Object.keys(one.shape) : []))),
  ];
}

function partsOf(schema: z.core.$ZodType, key: PropertyKey): z.core.$ZodType[] {
  return formsOf(schema).flatMap((form) => {
    if (form instanceof z.ZodObject) return form.shape[String(key)] ?? [];
    if (form instanceof z.ZodRecord) return form.valueType;
    return form instanceof z.ZodArray ? form.element : [];
  });
}

/** Returns the schemas that a written value can match: the schema without its default and conversion, or each option of a union. */
function formsOf(schema: z.core.$ZodType): z.core.$ZodType[] {
  if (schema instanceof z.ZodUnion) return schema.options.flatMap(formsOf);
  if (schema instanceof z.ZodPipe) return formsOf(schema.in instanceof z.ZodTransform ? schema.out : schema.in);
  const wraps = schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault;
  return wraps ? formsOf(schema.unwrap()) : [schema];
}
