import { isObject, pointerSegment } from '../json.js';
import type { Json } from '../types.js';
import { checkCall } from './check-call.js';
import { ARGUMENTS, checkAlways, checkTransform, checkValue } from './check-expressions.js';
import { checkStrategy } from './check-listen.js';
import {
  type Checking,
  checkDuration,
  checkError,
  checkOutput,
  checkReference,
  checkRetry,
  checkSchemaDefinition,
  checkTimeout,
  checkVariable,
  type Names,
} from './check-parts.js';
import {
  switchCaseSchema,
  type Task,
  type TaskKindName,
  type TaskList,
  type TaskOf,
  taskSchemas,
} from './definition.js';

const DIRECTIVES = new Set(['continue', 'exit', 'end']);
const UNSUPPORTED_TASKS = ['run'];

type Check<K extends TaskKindName> = (
  checking: Checking,
  path: string,
  task: TaskOf<K>,
  names: Names,
  targets: Targets,
) => void;

/** The names that a `then` may lead to: the tasks of the same list. */
type Targets = ReadonlySet<string>;

const checks: { [K in TaskKindName]: Check<K> } = {
  call: checkCall,
  do: (checking, path, task, names) => checkTaskList(checking, `${path}/do`, task.do, names),
  emit: ({ issues }, path, task, names) => {
    const event = task.emit.event.with;
    for (const name of ['source', 'type']) {
      if (event[name] === undefined)
        issues.add('ERR_MISSING', `${path}/emit/event/with/${name}`, `${name} is required`);
    }
    for (const name of Object.keys(event)) {
      if (!/^[a-z0-9]+$/.test(name)) {
        issues.add(
          'ERR_INVALID',
          `${path}/emit/event/with/${pointerSegment(name)}`,
          'an attribute must contain only a-z and 0-9',
        );
      }
    }
    checkValue(issues, `${path}/emit/event/with`, event, [...ARGUMENTS.task, ...names]);
  },
  for: (checking, path, task, names) => {
    const each = task.for.each ?? 'item';
    const at = task.for.at ?? 'index';
    checkVariable(checking, `${path}/for/each`, each);
    checkVariable(checking, `${path}/for/at`, at);
    if (each === at)
      checking.issues.add('ERR_INVALID', `${path}/for/at`, 'the item and its index must have different names');
    checkAlways(checking.issues, `${path}/for/in`, task.for.in, [...ARGUMENTS.task, ...names]);
    const inner = [...names, each, at];
    if (task.while !== undefined)
      checkAlways(checking.issues, `${path}/while`, task.while, [...ARGUMENTS.task, ...inner]);
    checkTaskList(checking, `${path}/do`, task.do, inner);
  },
  fork: (checking, path, task, names) => {
    if (task.fork.compete && task.fork.branches.length === 0) {
      checking.issues.add('ERR_INVALID', `${path}/fork/branches`, 'a fork that competes must have at least one branch');
    }
    // Branches run in parallel, so none of them can continue at another.
    checkTaskList(checking, `${path}/fork/branches`, task.fork.branches, names, new Set());
  },
  listen: (checking, path, task, names) => {
    checkStrategy(checking, `${path}/listen/to`, task.listen.to, names);
    const each = task.foreach;
    if (!each) return;
    const inner = [...names, each.item ?? 'item', each.at ?? 'index'];
    checkVariable(checking, `${path}/foreach/item`, each.item ?? 'item');
    checkVariable(checking, `${path}/foreach/at`, each.at ?? 'index');
    if (each.do) checkTaskList(checking, `${path}/foreach/do`, each.do, inner);
    checkOutput(checking, `${path}/foreach/output`, each.output, [...ARGUMENTS.task, ...inner]);
    checkOutput(checking, `${path}/foreach/export`, each.export, [...ARGUMENTS.taskExport, ...inner]);
  },
  raise: (checking, path, task, names) => {
    const { error } = task.raise;
    if (typeof error === 'string') checkReference(checking, 'errors', error, `${path}/raise/error`);
    else checkError(checking, `${path}/raise/error`, error, names);
  },
  set: ({ issues }, path, task, names) => {
    const seen = [...ARGUMENTS.task, ...names];
    if (typeof task.set === 'string') checkAlways(issues, `${path}/set`, task.set, seen);
    else if (Object.keys(task.set).length === 0)
      issues.add('ERR_INVALID', `${path}/set`, 'must set at least one value');
    else checkValue(issues, `${path}/set`, task.set, seen);
  },
  switch: (checking, path, task, names, targets) => {
    let defaults = 0;
    task.switch.forEach((item, index) => {
      const at = `${path}/switch/${index}`;
      const [name, value] = onlyEntry(checking, at, item) ?? [];
      if (name === undefined) return;
      const read = checking.issues.read(switchCaseSchema, value, `${at}/${pointerSegment(name)}`);
      if (!read) return;
      checkThen(checking, `${at}/${pointerSegment(name)}/then`, read.then, targets);
      if (read.when === undefined) defaults += 1;
      else checkAlways(checking.issues, `${at}/${pointerSegment(name)}/when`, read.when, [...ARGUMENTS.task, ...names]);
    });
    if (defaults > 1) checking.issues.add('ERR_INVALID', `${path}/switch`, 'only one case can have no condition');
  },
  try: (checking, path, task, names) => {
    checkTaskList(checking, `${path}/try`, task.try, names);
    const { as = 'error', when, exceptWhen, retry, do: handler } = task.catch;
    checkVariable(checking, `${path}/catch/as`, as);
    const inner = [...names, as];
    const seen = [...ARGUMENTS.task, ...inner];
    if (when !== undefined) checkAlways(checking.issues, `${path}/catch/when`, when, seen);
    if (exceptWhen !== undefined) checkAlways(checking.issues, `${path}/catch/exceptWhen`, exceptWhen, seen);
    if (typeof retry === 'string') {
      const policy = checkReference(checking, 'retries', retry, `${path}/catch/retry`);
      if (policy !== undefined) checkRetry(checking, `/use/retries/${pointerSegment(retry)}`, policy, inner);
    } else if (retry !== undefined) {
      checkRetry(checking, `${path}/catch/retry`, retry, inner);
    }
    if (handler) checkTaskList(checking, `${path}/catch/do`, handler, inner);
  },
  wait: (checking, path, task, names) =>
    checkDuration(checking, `${path}/wait`, task.wait, [...ARGUMENTS.task, ...names]),
};

/** Checks a list of named tasks; `targets` are the names that a `then` may lead to, by default those of the list. */
export function checkTaskList(checking: Checking, path: string, list: TaskList, names: Names, targets?: Targets): void {
  const entries = list.map((item, index) => onlyEntry(checking, `${path}/${index}`, item));
  const own = new Set<string>();
  entries.forEach((entry, index) => {
    if (!entry) return;
    const at = `${path}/${index}/${pointerSegment(entry[0])}`;
    if (own.has(entry[0])) checking.issues.add('ERR_DUPLICATE_NAME', at, `${entry[0]} is defined twice in this list`);
    if (DIRECTIVES.has(entry[0]))
      checking.issues.add('ERR_RESERVED', at, `${entry[0]} is a flow directive and cannot be the name of a task`);
    own.add(entry[0]);
  });
  entries.forEach((entry, index) => {
    if (entry) checkTask(checking, `${path}/${index}/${pointerSegment(entry[0])}`, entry[1], names, targets ?? own);
  });
}

/** Checks one task, whose kind is recognised by its keys. */
export function checkTask(checking: Checking, path: string, value: Json, names: Names, targets: Targets): void {
  const { issues } = checking;
  if (!isObject(value)) {
    issues.add('ERR_INVALID', path, 'a task must be an object');
    return;
  }
  const unsupported = UNSUPPORTED_TASKS.find((name) => Object.hasOwn(value, name));
  if (unsupported) {
    issues.add(
      `ERR_UNSUPPORTED_${unsupported.toUpperCase()}`,
      `${path}/${unsupported}`,
      `${unsupported} tasks are not supported`,
    );
    return;
  }
  const kind = (Object.keys(taskSchemas) as TaskKindName[]).find((name) => Object.hasOwn(value, name));
  if (!kind) {
    issues.add(
      'ERR_TASK',
      path,
      'not a task: must have one of call, do, emit, for, fork, listen, raise, set, switch, try, wait',
    );
    return;
  }
  checkKind(checking, path, kind, value, names, targets);
}

function checkKind<K extends TaskKindName>(
  checking: Checking,
  path: string,
  kind: K,
  value: Json,
  names: Names,
  targets: Targets,
): void {
  const { issues } = checking;
  const task = issues.read(taskSchemas[kind] as unknown as import('zod').ZodType<TaskOf<K>>, value, path);
  if (!task) return;
  checkBase(checking, path, task as Task, names, targets);
  checks[kind](checking, path, task, names, targets);
}

function checkBase(checking: Checking, path: string, task: Task, names: Names, targets: Targets): void {
  const { issues } = checking;
  if (task.if !== undefined) checkAlways(issues, `${path}/if`, task.if, [...ARGUMENTS.taskInput, ...names]);
  if (task.input?.schema) checkSchemaDefinition(checking, `${path}/input/schema`, task.input.schema);
  if (task.input?.from !== undefined) {
    checkTransform(issues, `${path}/input/from`, task.input.from, [...ARGUMENTS.taskInput, ...names]);
  }
  checkOutput(checking, `${path}/output`, task.output, [...ARGUMENTS.task, ...names]);
  checkOutput(checking, `${path}/export`, task.export, [...ARGUMENTS.taskExport, ...names]);
  if (task.timeout !== undefined)
    checkTimeout(checking, `${path}/timeout`, task.timeout, [...ARGUMENTS.task, ...names]);
  if (task.then !== undefined) checkThen(checking, `${path}/then`, task.then, targets);
}

function checkThen({ issues }: Checking, path: string, then: string, targets: Targets): void {
  if (!DIRECTIVES.has(then) && !targets.has(then))
    issues.add('ERR_THEN', path, `no task of this list is named ${then}`);
}

function onlyEntry({ issues }: Checking, path: string, item: { [key: string]: Json }): [string, Json] | undefined {
  const entries = Object.entries(item);
  const [entry] = entries;
  if (entry && entries.length === 1) return entry;
  issues.add('ERR_INVALID', path, 'an item must have exactly one name');
  return undefined;
}
