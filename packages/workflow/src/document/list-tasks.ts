import { isObject, pointerSegment } from '../json.js';
import type { Json, JsonObject } from '../types.js';
import type { Workflow } from './definition.js';

export interface ListedTask {
  /** JSON pointer of the task in the document. */
  path: string;
  task: JsonObject;
}

/** Returns every task of a workflow, at every level of nesting, with the tasks of its functions. */
export function listTasks(workflow: Workflow): ListedTask[] {
  const functions = Object.entries(workflow.use?.functions ?? {});
  return [
    ...listed('/do', workflow.do),
    ...functions.flatMap(([name, task]) => withInner(`/use/functions/${pointerSegment(name)}`, task)),
  ];
}

function listed(path: string, list: Json | undefined): ListedTask[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((item, index) =>
    isObject(item)
      ? Object.entries(item).flatMap(([name, task]) => withInner(`${path}/${index}/${pointerSegment(name)}`, task))
      : [],
  );
}

function withInner(path: string, task: Json): ListedTask[] {
  if (!isObject(task)) return [];
  const inside = (name: string) => (isObject(task[name]) ? task[name] : {}) as JsonObject;
  return [
    { path, task },
    ...listed(`${path}/do`, task.do),
    ...listed(`${path}/try`, task.try),
    ...listed(`${path}/fork/branches`, inside('fork').branches),
    ...listed(`${path}/catch/do`, inside('catch').do),
    ...listed(`${path}/foreach/do`, inside('foreach').do),
  ];
}
