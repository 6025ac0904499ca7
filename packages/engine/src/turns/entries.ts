import type { TaskEvent } from '@belay/db';
import type { LifecycleEvent, Transition } from '@belay/workflow';
import type { Actor, LedgerEntry, TaskEntry } from '../ports.js';
import { errorText, keptTaskEvents, taskEventsPerRow, toEmitted, toTaskEvent, verbs } from './task-events.js';

/** An event of a task, which is stored in one row with the events next to it. */
export interface ToldByTask {
  actor: Actor;
  userId: string;
  executionId: string;
  told: TaskEvent;
}

/** The actors of transitions that neither a person nor a program causes. */
export const runtime: Actor = { kind: 'system', name: 'runtime' };
export const clock: Actor = { kind: 'system', name: 'clock' };

/** Returns the entries of a transition, in order: the workflow's own events for the ledger, and those of its tasks. */
export function* entriesOf(
  execution: { id: string; ownerId: string },
  transition: Transition,
  actor: Actor,
): Generator<LedgerEntry | ToldByTask> {
  const common = { actor, userId: execution.ownerId, executionId: execution.id };
  for (const event of transition.events) {
    const told = toTaskEvent(event);
    yield told ? { ...common, told } : { ...common, ...ofWorkflow(event) };
  }
  for (const event of transition.emitted) yield { ...common, told: toEmitted(event) };
}

/** Returns an event of the workflow as an entry, without what the definition and the execution already contain. */
function ofWorkflow({ type, data }: LifecycleEvent): Pick<LedgerEntry, 'type' | 'level' | 'message' | 'data'> {
  const level = type.includes('.faulted.') ? 'warning' : 'info';
  return { type, level, message: describeEvent({ type, data }), data: data.error ? { error: data.error } : null };
}

/**
 * Packs the task events among entries into rows: one row for consecutive events with the same actor, a hundred at most.
 * `before` is the number of earlier task events. Events that are neither among the first thousand nor among the last
 * thousand are left out.
 */
export function packTaskEvents(
  entries: readonly (LedgerEntry | ToldByTask)[],
  before: number,
): { entries: (LedgerEntry | TaskEntry)[]; told: number } {
  const told = entries.filter((entry) => 'told' in entry).length;
  const packed: (LedgerEntry | TaskEntry)[] = [];
  let row: TaskEntry | null = null;
  let nth = before;
  for (const entry of entries) {
    if (!('told' in entry)) {
      packed.push(entry);
      row = null;
      continue;
    }
    nth += 1;
    const { told: event, ...common } = entry;
    // No row contains both events of the first thousand and later ones.
    const begins = (nth - 1) % taskEventsPerRow === 0;
    if (nth > keptTaskEvents && nth <= before + told - keptTaskEvents) row = null;
    else if (row === null || begins || row.actor !== entry.actor) {
      row = { ...common, nth, events: [event] };
      packed.push(row);
    } else row.events.push(event);
  }
  return { entries: packed, told };
}

/** Returns a workflow's lifecycle event in words, as history and logs show it. */
function describeEvent(event: Pick<LifecycleEvent, 'type' | 'data'>): string {
  const [, what = ''] = /\.workflow\.([a-z-]+)\.v1$/.exec(event.type) ?? [];
  const error = errorText(event);
  return `The workflow ${verbs[what] ?? event.type}${error === undefined ? '' : `: ${error}`}`;
}
