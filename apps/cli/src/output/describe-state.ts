import type { Execution } from '@belay/sdk';

/** Returns the state of a request in words; servers without `state` report only the status of the workflow. */
export function describeState({ state, status }: { state?: Execution['state']; status: string }): string {
  return (state ?? status).replaceAll('_', ' ');
}
