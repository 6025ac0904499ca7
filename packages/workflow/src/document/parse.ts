import { BEYOND, BOUNDS, exceeds, isObject, pointerSegment } from '../json.js';
import type { CallCheck, Issue, Json } from '../types.js';
import { checkAuthentication } from './check-call.js';
import { ARGUMENTS, checkTransform, checkValue } from './check-expressions.js';
import {
  type Checking,
  checkError,
  checkOutput,
  checkRetry,
  checkSchemaDefinition,
  checkTimeout,
  checkWorkflowTimeout,
} from './check-parts.js';
import { checkSchema, findLongSchemaFault } from './check-schema.js';
import { checkTask, checkTaskList } from './check-tasks.js';
import { type TaskList, type Workflow, workflowSchema } from './definition.js';
import { collectIssues, type Expression, type Issues, type Schema } from './issues.js';
import { readSource } from './source.js';

/** `expressions` must still be checked by `compileExpressions`, and the long `schemas` by `compileSchemas`. */
export type ParseResult =
  | { ok: true; workflow: Workflow; expressions: Expression[]; schemas: Schema[] }
  | { ok: false; issues: Issue[] };

const RESERVED_FUNCTIONS = new Set(['http', 'openapi', 'grpc', 'asyncapi', 'a2a', 'mcp']);

/**
 * Reads and checks a whole definition: an object, or YAML or JSON text. `functions` are those a `call` may name, each
 * with the check of its `with`. Never throws. A part of the DSL that is not supported is an issue `ERR_UNSUPPORTED_…`,
 * never skipped; a result that is `ok` is plain JSON that parses to itself again. `compileExpressions` checks that its
 * expressions are jq, and `compileSchemas` checks long schemas.
 */
export function parseWorkflow(source: unknown, options: { functions: { [name: string]: CallCheck } }): ParseResult {
  const read = readSource(source);
  if (!read.ok) return read;
  const issues = collectIssues();
  const workflow = issues.read(workflowSchema, read.value, '');
  if (workflow) checkWorkflow({ issues, use: workflow.use ?? {}, functions: options.functions }, workflow);
  // The document itself, rather than the output of zod: `$workflow.definition` is what the author wrote.
  if (issues.list.length === 0) {
    const { expressions, schemas } = issues;
    return { ok: true, workflow: read.value as Workflow, expressions, schemas };
  }
  // A reusable part that is used is checked twice, but reported once.
  const seen = new Map(issues.list.map((issue) => [`${issue.code} ${issue.path} ${issue.message}`, issue]));
  return { ok: false, issues: [...seen.values()] };
}

/**
 * Compiles long schemas in a thread, and returns an issue for each one that is wrong. Throws `ExpressionOutage` when
 * that is not possible now.
 */
export async function compileSchemas(schemas: readonly Schema[]): Promise<Issue[]> {
  const issues: Issue[] = [];
  for (const { path, schema } of schemas) {
    const message = await findLongSchemaFault(schema);
    if (message !== null) issues.push({ code: 'ERR_SCHEMA', path, message });
  }
  return issues;
}

/**
 * Reads a definition that `parseWorkflow` accepted before, without the deep checks. Throws a `TypeError` for a value
 * without a `document` or a `do`.
 */
export function loadWorkflow(stored: unknown): Workflow {
  if (isObject(stored) && isObject(stored.document) && Array.isArray(stored.do)) return stored as Workflow;
  throw new TypeError('not a stored workflow definition');
}

/**
 * Returns what is wrong with an input: that it cannot be stored, or how it differs from the workflow's `input.schema`.
 * Throws `ExpressionOutage` when it cannot be checked now.
 */
export async function validateInput(workflow: Workflow, input: Json): Promise<Issue[]> {
  const excess = exceeds(input, BOUNDS);
  if (excess) return [{ code: 'ERR_INPUT', path: '', message: BEYOND[excess] }];
  const document = workflow.input?.schema?.document;
  if (document === undefined) return [];
  return (await checkSchema(document, input)).map(([path, message]) => ({ code: 'ERR_INPUT', path, message }));
}

function checkWorkflow(checking: Checking, workflow: Workflow): void {
  const { issues } = checking;
  if (!/^1\.0\./.test(workflow.document.dsl)) {
    issues.add('ERR_UNSUPPORTED_DSL', '/document/dsl', `version ${workflow.document.dsl} of the DSL is not supported`);
  }
  if (workflow.schedule !== undefined)
    issues.add('ERR_UNSUPPORTED_SCHEDULE', '/schedule', 'schedules are not supported');
  const { language = 'jq', mode = 'strict' } = workflow.evaluate ?? {};
  if (language !== 'jq') issues.add('ERR_UNSUPPORTED_LANGUAGE', '/evaluate/language', `${language} is not supported`);
  if (mode !== 'strict') issues.add('ERR_UNSUPPORTED_MODE', '/evaluate/mode', `the mode ${mode} is not supported`);
  if (workflow.input?.schema) checkSchemaDefinition(checking, '/input/schema', workflow.input.schema);
  if (workflow.input?.from !== undefined) {
    checkTransform(issues, '/input/from', workflow.input.from, ARGUMENTS.workflowInput);
  }
  checkOutput(checking, '/output', workflow.output, ARGUMENTS.workflowOutput);
  if (workflow.timeout !== undefined) checkWorkflowTimeout(checking, workflow.timeout);
  checkUse(checking);
  checkTaskList(checking, '/do', workflow.do, []);
}

function checkUse(checking: Checking): void {
  const { issues, use } = checking;
  for (const name of ['catalogs', 'extensions', 'secrets'] as const) {
    if (use[name] !== undefined)
      issues.add(`ERR_UNSUPPORTED_${name.toUpperCase()}`, `/use/${name}`, `${name} are not supported`);
  }
  for (const [at, timeout] of named('/use/timeouts', use.timeouts)) {
    if (typeof timeout === 'string') issues.add('ERR_INVALID', at, 'a timeout must be an object');
    else checkTimeout(checking, at, timeout, ARGUMENTS.task);
  }
  for (const [at, error] of named('/use/errors', use.errors)) checkError(checking, at, error, []);
  // Undefined variables are reported only where a policy is used, because the variable of the caught error exists only there.
  for (const [at, policy] of named('/use/retries', use.retries)) checkUnusedRetry(checking, at, policy);
  for (const [at, value] of named('/use/authentications', use.authentications)) {
    checkAuthentication(checking, at, value);
    if (isObject(value) && value.use !== undefined)
      issues.add('ERR_INVALID', at, 'a reusable authentication must be defined inline');
    checkValue(issues, at, value, ARGUMENTS.task);
  }
  for (const [at, task] of named('/use/functions', use.functions)) checkTask(checking, at, task, [], new Set());
  checkFunctionNames(checking);
}

function checkUnusedRetry(checking: Checking, at: string, policy: Json): void {
  const issues: Issues = collectIssues();
  checkRetry({ ...checking, issues }, at, policy, []);
  checking.issues.expressions.push(...issues.expressions);
  for (const issue of issues.list) {
    if (issue.code !== 'ERR_EXPRESSION_VARIABLE') checking.issues.add(issue.code, issue.path, issue.message);
  }
}

function named(path: string, record: { [name: string]: Json } | undefined): [string, Json][] {
  return Object.entries(record ?? {}).map(([name, value]) => [`${path}/${pointerSegment(name)}`, value]);
}

/** Checks that a function does not hide a built-in one, and does not call itself, directly or through others. */
function checkFunctionNames({ issues, use, functions }: Checking): void {
  const own = use.functions ?? {};
  const calls = new Map(Object.entries(own).map(([name, task]) => [name, calledFunctions(task)]));
  for (const name of calls.keys()) {
    const at = `/use/functions/${pointerSegment(name)}`;
    if (RESERVED_FUNCTIONS.has(name) || Object.hasOwn(functions, name)) {
      issues.add('ERR_RESERVED', at, `${name} is already the name of a built-in function`);
    }
    const reached = new Set<string>();
    const next = [...(calls.get(name) ?? [])];
    for (let called = next.pop(); called !== undefined; called = next.pop()) {
      if (reached.has(called)) continue;
      reached.add(called);
      next.push(...(calls.get(called) ?? []));
    }
    if (reached.has(name)) issues.add('ERR_FUNCTION_CYCLE', at, `${name} calls itself`);
  }
}

function calledFunctions(value: Json): string[] {
  if (Array.isArray(value)) return value.flatMap(calledFunctions);
  if (!isObject(value)) return [];
  const own = typeof value.call === 'string' ? [value.call] : [];
  return [
    ...own,
    ...Object.values(value as { [key: string]: Json } satisfies TaskList[number]).flatMap(calledFunctions),
  ];
}
