import type { ExecutionState, WaitTarget } from '@belay/sdk';
import { Option } from 'commander';
import { CliError, usage } from '../cli-error.js';
import { addCommand, type Parent } from '../command.js';
import { readDuration } from '../duration.js';
import { exitCodes } from '../exit-codes.js';
import { findRequest } from '../find-request.js';
import { describeState } from '../output/render-request.js';

interface Options {
  until: WaitTarget;
  timeout: string;
}

const over: readonly ExecutionState[] = ['ending', 'ended', 'denied', 'cancelled', 'terminated', 'failed'];

/**
 * Declares the command `belay wait <id>`, which waits for a state of a request. It exits with 0 when the request reached it, 7 at the
 * timeout, and 8 when it waited for `active` but the access has ended or was never granted.
 */
export function addWait(parent: Parent): void {
  addCommand<Options>(parent, {
    name: 'wait <id>',
    description: 'wait until a request has reached a state, for scripts',
    examples: ['wait 0197…', 'wait 0197… --until decision --timeout 1h', 'wait 0197… --until ended --json'],
    values: { id: 'executions' },
    options: (command) =>
      command
        .addOption(
          new Option(
            '--until <what>',
            'approval: waiting for approval; decision: decided; active: access granted; ended: access ended; completed: workflow over',
          )
            .choices(['approval', 'decision', 'active', 'ended', 'completed'])
            .default('active'),
        )
        .option('--timeout <duration>', 'the longest time to wait, for example 30m or PT30M', '1h'),
    run: async ({ args: [given = ''], options: { until, timeout }, output, connect, shell: { signal, clock } }) => {
      const patience = readDuration(timeout);
      if (patience === undefined || patience === 0)
        throw usage('--timeout is not a valid duration, for example 30m or PT30M');
      const { client } = await connect();
      const { hasReached } = await import('@belay/sdk');
      const id = await findRequest(client, given, signal);
      const end = clock().getTime() + patience;
      for (;;) {
        const { state, status } = await client.executions.wait(id, until, { signal });
        if (hasReached(until, { state, status })) {
          output.result({ execution_id: id, status, state }, () =>
            output.fields({ state: describeState({ state, status }) }),
          );
          return until === 'active' && over.includes(state) ? exitCodes.endedWithoutAccess : exitCodes.ok;
        }
        if (clock().getTime() >= end) {
          throw new CliError(
            'unavailable',
            `the request did not reach "${until}" within ${timeout}; it is ${describeState({ state, status })}`,
          );
        }
      }
    },
  });
}
