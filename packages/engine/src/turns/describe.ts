import type { LifecycleEvent } from '@belay/workflow';
import { errorText, verbs } from './task-events.js';

/** Returns a workflow's lifecycle event in words, as history and logs show it. */
export function describeEvent(event: Pick<LifecycleEvent, 'type' | 'data'>): string {
  const [, what = ''] = /\.workflow\.([a-z-]+)\.v1$/.exec(event.type) ?? [];
  const error = errorText(event);
  return `The workflow ${verbs[what] ?? event.type}${error === undefined ? '' : `: ${error}`}`;
}
