import { AccessError } from '@belay/contract/errors';
import { isOutage, isUnreachable } from '@belay/contract/outage';
import { approvals, sqlText } from '@belay/db';
import { type CallFunction, type EngineContext, type Explained, type Host, registerFunctions } from '@belay/engine';
import { Pending, Retryable, Terminal } from '@belay/providers';
import type { Json } from '@belay/workflow';
import { endGrants } from './access/end.js';
import { openCall } from './access/pulse.js';
import { publicMessage } from './catalog/authorizer.js';
import type { Actor, Context } from './context.js';
import { admitsFrom, readSender } from './executions/senders.js';
import { faultOf } from './faults.js';
import { approve } from './functions/approve.js';
import { grant } from './functions/grant.js';
import { hold } from './functions/hold.js';
import { notify } from './functions/notify.js';
import { revoke } from './functions/revoke.js';
import { validate } from './functions/validate.js';
import { appending } from './ledger/append.js';
import { isOwnFailure, noteOutage } from './outage.js';
import type { ElevationInput } from './plans/input.js';
import { besideExecution, inputNow } from './plans/owner.js';
import { untilStopped } from './until-stopped.js';

/** The functions of core that a workflow can call, by the names that workflows use. */
const accessFunctions: Readonly<Record<string, CallFunction>> = {
  'access.validate': validate,
  'access.approve': approve,
  'access.grant': grant,
  'access.hold': hold,
  'access.revoke': revoke,
  'access.notify': notify,
};

/** What the engine needs from core. The composition root puts it into the context, which the engine passes back unchanged. */
export const engineHost: Host = {
  functions: registerFunctions(accessFunctions),
  appending,
  beside: besideExecution,
  inputNow: (ctx: EngineContext, input, beside) => inputNow(ctx as Context, input as ElevationInput, beside) as Json,
  admits: (workflow, sender) => admitsFrom(workflow, readSender(sender)),
  release: (tx, { actor, ...what }) => endGrants(tx, { ...what, actor: actor as Actor }),
  withdrawing: (all) => sqlText`withdrawn as (
    update ${approvals} set status = 'withdrawn', closed_at = app_now()
    from moved where execution_id = moved.id and ${approvals}.status = 'open'
      ${all ? sqlText`` : sqlText`and step_key in (select key from ending where ending.status = 'closed')`})`,
  openCall(ctx, systems) {
    const call = openCall(ctx as Context, systems);
    return { ...call, untilStopped: (work) => untilStopped(work, call.signal) };
  },
  isOutage,
  noteOutage,
  explain,
};

/**
 * Errors of a provider that may respond later, and of our own database, are retried; every other error is a fault of
 * the workflow.
 */
function explain(error: unknown): Explained {
  const ours = !(error instanceof Retryable || error instanceof Terminal) && isOwnFailure(error);
  if (ours) return { kind: 'again', because: 'the service itself', isOutage: isOutage(error) };
  // `unavailable` from any of our verbs may be temporary.
  if (error instanceof AccessError && error.code === 'unavailable') return { kind: 'again', because: error.message };
  if (error instanceof Retryable) {
    const because = error instanceof Pending ? `the provider: ${publicMessage(error)}` : publicMessage(error);
    return { kind: 'again', after: error.options.afterMilliseconds, because };
  }
  // Some connectors throw the error of their connection unchanged.
  if (isUnreachable(error)) return { kind: 'again', because: publicMessage(error) };
  return { kind: 'fault', fault: faultOf(error), expected: error instanceof AccessError };
}
