import type { Transition } from '@belay/workflow';
import type { Actor } from '../../context.js';
import type { LedgerEntry } from '../../ledger/append.js';
import { describeEvent } from './describe.js';

/** The ledger's account of a transition. */
export function entriesOf(
  execution: { id: string; ownerId: string },
  transition: Transition,
  actor: Actor,
): LedgerEntry[] {
  const common = { actor, userId: execution.ownerId, executionId: execution.id };
  const lifecycle = transition.events.map((event): LedgerEntry => {
    const { message, task } = describeEvent(event);
    const level = event.type.includes('.faulted.') ? 'warning' : 'info';
    return { ...common, type: event.type, level, message, data: { ...event.data, ...(task ? { task } : {}) } };
  });
  const emitted = transition.emitted.map(
    (event): LedgerEntry => ({
      ...common,
      type: event.type,
      message: `Emitted ${event.type}`,
      data: { source: event.source, id: event.id },
    }),
  );
  return [...lifecycle, ...emitted];
}
