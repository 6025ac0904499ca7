import type { ActorContext } from '../../context.js';
import type { Locked } from './lock.js';
import type { PreparedMove } from './prepared.js';

/** The move that ends an execution as it stands: no task runs any more. Under the execution's lock, so it is always written. */
export function endByForce(ctx: ActorContext, execution: Locked): PreparedMove {
  const who = ctx.actor.kind === 'user' ? ctx.actor.email : 'An operator';
  return {
    execution,
    version: execution.version,
    status: 'terminated',
    open: [],
    claimed: null,
    lease: 0,
    over: [],
    consumed: [],
    turn: { seen: null, again: false },
    entries: [
      {
        type: 'execution.terminated',
        level: 'warning',
        message: `${who} terminated the execution`,
        actor: ctx.actor,
        userId: execution.ownerId,
        executionId: execution.id,
      },
    ],
    told: { now: 0, after: 0 },
    actor: ctx.actor,
    hints: [],
  };
}
