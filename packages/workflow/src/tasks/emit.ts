import type { TaskOf } from '../document/definition.js';
import { evaluateValue } from '../expression/evaluate.js';
import { Raised, standardFault } from '../fault.js';
import { taskSight } from '../machine/data.js';
import type { TaskKind } from '../machine/run.js';
import type { CloudEvent, Json, JsonObject } from '../types.js';

/** Publishes a CloudEvent, which is also the task's output. The host decides who receives it. */
export const emitTask: TaskKind<TaskOf<'emit'>> = {
  async start(run, frame, task, variables) {
    const given = (await evaluateValue(task.emit.event.with, taskSight(run, frame, variables))) as JsonObject;
    // Evaluating twice gives the same id, so that a repeated event can be recognised.
    const event = {
      id: `${run.env.executionId}${frame.key}`,
      time: run.env.now,
      ...given,
      specversion: '1.0',
    };
    for (const name of ['id', 'source', 'type', 'time', 'subject', 'datacontenttype', 'dataschema']) {
      const value = (event as JsonObject)[name];
      if (value !== undefined && (typeof value !== 'string' || value === '')) {
        throw new Raised(standardFault('validation', { detail: `the event's ${name} must be a string` }));
      }
    }
    run.emitted.push(event as unknown as CloudEvent);
    return { is: 'done', value: event as Json };
  },
};
