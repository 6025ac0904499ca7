import { durationOf } from '../duration.js';
import { CANCELLED } from '../fault.js';
import { isObject } from '../json.js';
import type { CallCheck, Json } from '../types.js';
import { ARGUMENTS, checkAlways, checkTransform, checkValue, isExpression, RESERVED } from './check-expressions.js';
import { findSchemaFault, isLong } from './check-schema.js';
import {
  type ErrorDefinition,
  errorSchema,
  type OutputDefinition,
  type RetryDefinition,
  retrySchema,
  type SchemaDefinition,
  timeoutSchema,
  type Workflow,
} from './definition.js';
import type { Issues } from './issues.js';

/** What every check needs: the list of issues, the reusable components, and the functions that a `call` may name. */
export interface Checking {
  issues: Issues;
  use: NonNullable<Workflow['use']>;
  functions: { [name: string]: CallCheck };
}

/** The variables in scope besides the DSL's own: those of the enclosing loops and catches. */
export type Names = readonly string[];

const REUSABLE = {
  timeouts: 'timeout',
  retries: 'retry policy',
  errors: 'error',
  authentications: 'authentication',
} as const;

/** Returns a reusable component by its name, or undefined after adding an issue. */
export function checkReference(
  checking: Checking,
  kind: keyof typeof REUSABLE,
  name: string,
  path: string,
): Json | undefined {
  const all = checking.use[kind];
  const found = all && Object.hasOwn(all, name) ? all[name] : undefined;
  if (found === undefined) checking.issues.add('ERR_REFERENCE', path, `no ${REUSABLE[kind]} is named ${name}`);
  return found;
}

/** Checks a duration, which can be an expression with the variables `seen`. */
export function checkDuration({ issues }: Checking, path: string, value: Json, seen: readonly string[]): void {
  if (isExpression(value)) {
    checkValue(issues, path, value, seen);
    return;
  }
  try {
    durationOf(value);
  } catch (error) {
    const message = error instanceof Error ? error.message : 'not a duration';
    const calendar = message.startsWith('years and months');
    issues.add(calendar ? 'ERR_UNSUPPORTED_DURATION' : 'ERR_DURATION', path, message);
  }
}

/** Checks a timeout, inline or by name, whose expressions have the variables `seen`. */
export function checkTimeout(checking: Checking, path: string, value: Json, seen: readonly string[]): void {
  if (typeof value === 'string') {
    checkReference(checking, 'timeouts', value, path);
    return;
  }
  const timeout = checking.issues.read(timeoutSchema, value, path);
  if (timeout) checkDuration(checking, `${path}/after`, timeout.after, seen);
}

/** Checks the timeout of a workflow. It is evaluated before the first task, so it has fewer variables than those of tasks. */
export function checkWorkflowTimeout(checking: Checking, value: Json): void {
  const timeout = typeof value === 'string' ? checkReference(checking, 'timeouts', value, '/timeout') : value;
  if (timeout !== undefined && typeof timeout !== 'string')
    checkTimeout(checking, '/timeout', timeout, ARGUMENTS.workflowOutput);
}

export function checkSchemaDefinition({ issues }: Checking, path: string, schema: SchemaDefinition): void {
  if (schema.resource !== undefined) {
    issues.add('ERR_UNSUPPORTED_EXTERNAL_RESOURCE', `${path}/resource`, 'a schema must be written inline');
    return;
  }
  const format = schema.format ?? 'json';
  if (format !== 'json' && !format.startsWith('json:')) {
    issues.add('ERR_UNSUPPORTED_SCHEMA_FORMAT', `${path}/format`, `schemas of format ${format} are not supported`);
    return;
  }
  if (schema.document === undefined) {
    issues.add('ERR_MISSING', `${path}/document`, 'a schema document is required');
    return;
  }
  if (isLong(schema.document)) {
    issues.schemas.push({ path: `${path}/document`, schema: schema.document });
    return;
  }
  const fault = findSchemaFault(schema.document);
  if (fault !== null) issues.add('ERR_SCHEMA', `${path}/document`, fault);
}

export function checkOutput(
  checking: Checking,
  path: string,
  output: OutputDefinition | undefined,
  names: Names,
): void {
  if (!output) return;
  if (output.schema) checkSchemaDefinition(checking, `${path}/schema`, output.schema);
  if (output.as !== undefined) checkTransform(checking.issues, `${path}/as`, output.as, names);
}

/** Checks an error to raise, inline or reusable. */
export function checkError({ issues }: Checking, path: string, value: Json, names: Names): ErrorDefinition | undefined {
  const error = issues.read(errorSchema, value, path);
  if (!error) return undefined;
  if (error.type === CANCELLED)
    issues.add('ERR_RESERVED', `${path}/type`, 'this error type is reserved for cancellation');
  checkValue(issues, path, error as { [key: string]: Json }, [...ARGUMENTS.task, ...names]);
  return error;
}

/** Checks a retry policy, inline or reusable. */
export function checkRetry(checking: Checking, path: string, value: Json, names: Names): RetryDefinition | undefined {
  const { issues } = checking;
  if (isObject(value) && isObject(value.backoff)) {
    const [name, settings] = Object.entries(value.backoff)[0] ?? [];
    if (name !== undefined && isObject(settings) && Object.keys(settings).length > 0) {
      issues.add('ERR_UNSUPPORTED_BACKOFF', `${path}/backoff/${name}`, 'settings of a backoff are not supported');
      return undefined;
    }
  }
  const retry = issues.read(retrySchema, value, path);
  if (!retry) return undefined;
  const seen = [...ARGUMENTS.task, ...names];
  if (retry.when !== undefined) checkAlways(issues, `${path}/when`, retry.when, seen);
  if (retry.exceptWhen !== undefined) checkAlways(issues, `${path}/exceptWhen`, retry.exceptWhen, seen);
  const durations = {
    '/delay': retry.delay,
    '/limit/duration': retry.limit?.duration,
    '/limit/attempt/duration': retry.limit?.attempt?.duration,
    '/jitter/from': retry.jitter?.from,
    '/jitter/to': retry.jitter?.to,
  };
  for (const [at, duration] of Object.entries(durations)) {
    if (duration !== undefined) checkDuration(checking, `${path}${at}`, duration, seen);
  }
  return retry;
}

/** Checks the name of a variable that a loop or a catch introduces. */
export function checkVariable({ issues }: Checking, path: string, name: string): void {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
    issues.add(
      'ERR_INVALID',
      path,
      'a variable must contain only letters, digits and _, and must not begin with a digit',
    );
  else if (RESERVED.has(name)) issues.add('ERR_RESERVED', path, `$${name} is reserved`);
}
