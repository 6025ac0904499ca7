import type { LifecycleEvent } from '@belay/workflow';

const subjects: Record<string, string> = {
  started: 'started',
  completed: 'completed',
  faulted: 'failed',
  cancelled: 'was cancelled',
  retried: 'is tried again',
  created: 'was created',
  suspended: 'was suspended',
  resumed: 'was resumed',
};

/** A lifecycle event in words, as history and logs show it. */
export function describeEvent(event: LifecycleEvent): { message: string; task: string | null } {
  const [, kind, what] = /\.(workflow|task)\.([a-z-]+)\.v1$/.exec(event.type) ?? [];
  const verb = subjects[what ?? ''] ?? what ?? event.type;
  const pointer = typeof event.data.task === 'string' ? event.data.task : null;
  if (kind === 'task' && pointer) {
    const name = pointer.split('/').at(-1) ?? pointer;
    return { message: `Task ${name} ${verb}${detailOf(event)}`, task: pointer };
  }
  return { message: `The workflow ${verb}${detailOf(event)}`, task: null };
}

function detailOf(event: LifecycleEvent): string {
  const { error } = event.data;
  if (error === null || typeof error !== 'object' || Array.isArray(error)) return '';
  const detail = error.detail ?? error.title ?? error.type;
  return typeof detail === 'string' ? `: ${detail}` : '';
}
