import type { Workflow } from '../document/definition.js';
import { later } from '../duration.js';
import { evaluateTransform } from '../expression/evaluate.js';
import type { Env, Json } from '../types.js';
import { evaluateTimeout, validate, workflowSight } from './data.js';
import { enterList, newList } from './list.js';
import { openStep, type Progress, recordWorkflow } from './run.js';
import type { State } from './state.js';
import { conclude, guardWorkflow, newRun, type Transition, WORKFLOW_TIMEOUT } from './transition.js';

/**
 * Starts an execution and runs it as far as it goes without waiting. An invalid input is a fault of the execution;
 * call `validateInput` before to reject it instead. Throws only when the host's `evaluate` breaks.
 */
export async function begin(workflow: Workflow, input: Json, env: Env): Promise<Transition> {
  const state: State = {
    v: 1,
    status: 'running',
    startedAt: env.startedAt ?? env.now,
    input,
    context: null,
    open: {},
    root: newList('/do', '/do', ''),
  };
  const run = newRun(workflow, state, env);
  recordWorkflow(run, 'started');
  const progress = await guardWorkflow<Progress>('/input', async () => {
    await validate(run, workflow.input?.schema, input, 'input');
    const from = workflow.input?.from;
    const value = from === undefined ? input : await evaluateTransform(from, workflowSight(run, input, false));
    // In the DSL's data flow the transformed input is the first content of `$context`.
    state.context = value;
    if (workflow.timeout !== undefined) {
      const after = await evaluateTimeout(run, workflow.timeout, workflowSight(run, value, true));
      const dueAt = later(env.now, after);
      openStep(run, { key: WORKFLOW_TIMEOUT, kind: 'timer', request: { purpose: 'timeout' }, dueAt });
    }
    return state.root ? await enterList(run, state.root, value, {}) : { is: 'done', value };
  });
  return await conclude(run, progress);
}
