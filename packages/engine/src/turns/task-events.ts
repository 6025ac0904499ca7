import { cutText } from '@belay/contract/text';
import type { LedgerLevel, TaskEvent } from '@belay/db';
import type { CloudEvent, LifecycleEvent } from '@belay/workflow';

/** How many of an execution's first and of its last task events are kept. */
export const keptTaskEvents = 1_000;
/** The maximum number of events in one row; no row contains both events of the first thousand and later ones. */
export const taskEventsPerRow = 100;

const lifecycle = /^io\.serverlessworkflow\.task\.([a-z-]+)\.v1$/;
const emitted = 'emitted';
/** The maximum length of a text that a workflow puts into an event, in characters. */
const longest = 500;

/** Returns a task's lifecycle event as it is stored; null for an event of the workflow. */
export function toTaskEvent(event: LifecycleEvent): TaskEvent | null {
  const [, what] = lifecycle.exec(event.type) ?? [];
  if (what === undefined) return null;
  const about = clip(typeof event.data.task === 'string' ? event.data.task : '');
  const error = errorText(event);
  return error === undefined ? [what, about] : [what, about, clip(error)];
}

/** Returns an event that a task emitted, as it is stored. */
export function toEmitted(event: CloudEvent): TaskEvent {
  return [emitted, clip(event.type), clip(event.source), clip(event.id)];
}

/** Returns how an event type is stored: as one of the DSL's own, or as that of an emitted event. */
export function kindOf(type: string): { what: string; about?: string } {
  const [, what] = lifecycle.exec(type) ?? [];
  return what === undefined ? { what: emitted, about: type } : { what };
}

/** Returns a stored task event in words, as history and logs show it. */
export function describeTaskEvent([what, about, error]: TaskEvent): {
  type: string;
  level: LedgerLevel;
  message: string;
  task?: string;
} {
  if (what === emitted) return { type: about, level: 'info', message: `Emitted ${about}` };
  const name = about.split('/').at(-1) ?? about;
  return {
    type: `io.serverlessworkflow.task.${what}.v1`,
    level: what === 'faulted' ? 'warning' : 'info',
    message: `Task ${name} ${verbs[what] ?? what}${error === undefined ? '' : `: ${error}`}`,
    task: about,
  };
}

export const verbs: Readonly<Record<string, string>> = {
  started: 'started',
  completed: 'completed',
  faulted: 'failed',
  cancelled: 'was cancelled',
  retried: 'is retried',
  created: 'was created',
  suspended: 'was suspended',
  resumed: 'was resumed',
};

/** Returns the error of a lifecycle event, in words. */
export function errorText({ data: { error } }: Pick<LifecycleEvent, 'data'>): string | undefined {
  if (error === null || typeof error !== 'object' || Array.isArray(error)) return undefined;
  const text = error.detail ?? error.title ?? error.type;
  return typeof text === 'string' ? text : undefined;
}

function clip(text: string): string {
  return text.length > longest ? `${cutText(text, longest)}…` : text;
}
