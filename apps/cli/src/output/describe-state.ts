import type { Execution } from '@belay/sdk';

/** Returns where a request stands, in words; a server from before `state` says where its workflow stands. */
export function describeState({ state, status }: { state?: Execution['state']; status: string }): string {
  return (state ?? status).replaceAll('_', ' ');
}
