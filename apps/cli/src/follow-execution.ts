import type { BelayClient } from '@belay/sdk';
import { type ExitCode, exitCodes } from './exit-codes.js';
import type { Output } from './output/output.js';
import { printable } from './output/printable.js';

/**
 * Shows every event of an execution until it is over and nothing is held any more. Resolves to `endedWithoutAccess` when
 * none of its grants ever became active.
 */
export async function followExecution(
  client: BelayClient,
  id: string,
  output: Output,
  options: { signal: AbortSignal; lastEventId?: string | undefined },
): Promise<ExitCode> {
  for await (const event of client.executions.watch(id, options)) {
    const { timestamp, event_type, message, task } = event;
    output.event(event, () =>
      [output.colours.dim(timestamp), output.colours.bold(event_type), task ?? '', message]
        .map((part, index) => (index < 2 ? part : printable(part)))
        .filter(Boolean)
        .join(output.colours.isColorSupported ? '  ' : '\t'),
    );
  }
  const { status, grants, error } = await client.executions.get(id, { signal: options.signal });
  const had = grants.some((grant) => grant.granted_at !== null);
  const why = error === null ? '' : `: ${error.detail ?? error.title ?? error.type}`;
  output.note(printable(`${status}${why}; ${had ? 'the access was given and is gone again' : 'no access was given'}`));
  return had ? exitCodes.ok : exitCodes.endedWithoutAccess;
}
