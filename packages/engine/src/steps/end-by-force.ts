import type { Actor, Locked, PreparedMove } from '../ports.js';

/**
 * Returns the move that ends an execution in its current state: no further task runs. The caller holds the execution's lock, so the
 * move is always written.
 */
export function endByForce(execution: Locked, by: { actor: Actor; name: string }): PreparedMove {
  const { actor, name } = by;
  return {
    execution,
    version: execution.version,
    status: 'terminated',
    open: [],
    parked: [],
    claimed: null,
    lease: 0,
    over: [],
    consumed: [],
    turn: { seen: null, again: false },
    entries: [
      {
        type: 'execution.terminated',
        level: 'warning',
        message: `${name} terminated the execution`,
        actor,
        userId: execution.ownerId,
        executionId: execution.id,
      },
    ],
    told: { now: 0, after: 0 },
    actor,
    jobs: [],
  };
}
