import type { z } from 'zod';
import { pointerSegment } from '../json.js';
import type { Issue, Json } from '../types.js';

/** A jq program of a document, and its place. */
export interface Expression {
  path: string;
  program: string;
}

/** A long JSON Schema of a document, and its place. */
export interface Schema {
  path: string;
  schema: Json;
}

/** Collects the issues of a document, and what must be compiled in a thread to check it. */
export interface Issues {
  list: Issue[];
  expressions: Expression[];
  schemas: Schema[];
  add(code: string, path: string, message: string): void;
  /** Returns the value parsed by the schema, or undefined after adding its issues, at `path` or below it. */
  read<T>(schema: z.ZodType<T>, value: unknown, path: string): T | undefined;
}

export function collectIssues(): Issues {
  const list: Issue[] = [];
  const add = (code: string, path: string, message: string) => {
    list.push({ code, path, message });
  };
  return {
    list,
    expressions: [],
    schemas: [],
    add,
    read(schema, value, path) {
      const result = schema.safeParse(value);
      if (result.success) return result.data;
      for (const issue of result.error.issues) addShape(add, issue, path);
      return undefined;
    },
  };
}

function addShape(add: Issues['add'], issue: z.core.$ZodIssue, path: string): void {
  const at = `${path}${issue.path.map((segment) => `/${pointerSegment(String(segment))}`).join('')}`;
  if (issue.code === 'unrecognized_keys') {
    for (const key of issue.keys)
      add('ERR_UNKNOWN_KEY', `${at}/${pointerSegment(key)}`, `${key} is not a known property`);
    return;
  }
  if (issue.code === 'invalid_type' && issue.input === undefined && issue.message.includes('undefined')) {
    add('ERR_MISSING', at, `a value of type ${issue.expected} is required`);
    return;
  }
  add('ERR_INVALID', at, issue.message);
}
