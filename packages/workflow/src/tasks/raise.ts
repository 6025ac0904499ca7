import type { ErrorDefinition, TaskOf } from '../document/definition.js';
import { evaluateValue } from '../expression/evaluate.js';
import { CANCELLED, newFault, standardFault } from '../fault.js';
import { taskSight } from '../machine/data.js';
import type { TaskKind } from '../machine/run.js';
import type { Json, JsonObject } from '../types.js';

/** Raises an error, inline or one of `use.errors`. */
export const raiseTask: TaskKind<TaskOf<'raise'>> = {
  async start(run, frame, task, variables) {
    const { error } = task.raise;
    const definition = (typeof error === 'string' ? run.workflow.use?.errors?.[error] : error) as ErrorDefinition;
    const evaluated = (await evaluateValue(definition as JsonObject, taskSight(run, frame, variables))) as JsonObject;
    const { status } = definition;
    const { type } = evaluated;
    if (typeof type !== 'string' || type === CANCELLED) {
      const detail = 'the type of an error must be a URI, and must not be the type that is reserved for cancellation';
      return { is: 'fault', fault: standardFault('expression', { detail, instance: frame.task }) };
    }
    const instance = typeof evaluated.instance === 'string' ? evaluated.instance : frame.task;
    const title = textOf(evaluated.title);
    const detail = textOf(evaluated.detail);
    return { is: 'fault', fault: newFault({ type, status, title, detail, instance }) };
  },
};

function textOf(value: Json | undefined): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
