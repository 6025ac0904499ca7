import type { ErrorDefinition, TaskOf } from '../document/definition.js';
import { evaluateValue } from '../expression/evaluate.js';
import { CANCELLED, standardFault } from '../fault.js';
import { taskSight } from '../machine/data.js';
import type { TaskKind } from '../machine/run.js';
import type { Fault, JsonObject } from '../types.js';

/** Raises an error, inline or one of `use.errors`. */
export const raiseTask: TaskKind<TaskOf<'raise'>> = {
  async start(run, frame, task, variables) {
    const { error } = task.raise;
    const definition = (typeof error === 'string' ? run.workflow.use?.errors?.[error] : error) as ErrorDefinition;
    const evaluated = (await evaluateValue(definition as JsonObject, taskSight(run, frame, variables))) as JsonObject;
    const { status } = definition;
    const { type } = evaluated;
    if (typeof type !== 'string' || type === CANCELLED) {
      const detail = 'the type of an error must be a URI, and not the one reserved for cancellation';
      return { is: 'fault', fault: standardFault('expression', { detail, instance: frame.task }) };
    }
    const fault: Fault = { type, status };
    for (const name of ['title', 'detail'] as const) {
      const text = evaluated[name];
      if (text !== undefined && text !== null) fault[name] = typeof text === 'string' ? text : JSON.stringify(text);
    }
    fault.instance = typeof evaluated.instance === 'string' ? evaluated.instance : frame.task;
    return { is: 'fault', fault };
  },
};
