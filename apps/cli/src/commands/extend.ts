import { usage } from '../cli-error.js';
import { addCommand, type Parent } from '../command.js';
import { readDuration, toDuration } from '../duration.js';
import { findRequest } from '../find-request.js';
import { followExecution } from '../follow-execution.js';

interface Options {
  for?: string;
  reason?: string;
  wait: boolean;
}

/**
 * Declares the command `belay extend <id>`, which requests active access for longer, and waits until the extension is
 * active unless `--no-wait` is given.
 */
export function addExtend(parent: Parent): void {
  addCommand<Options>(parent, {
    name: 'extend <id>',
    description: 'request your active access for longer, on the same terms',
    examples: ['extend 0197…', 'extend 0197… --for 1h', "extend 0197… --reason 'the import still runs' --no-wait"],
    values: { id: 'executions' },
    options: (command) =>
      command
        .option(
          '--duration, --for <duration>',
          'how long from its approval, for example 1h (default: as long as the request)',
        )
        .option('--reason <text>', 'the reason (default: that of the request)')
        .option('--no-wait', 'return at once instead of waiting until the extension is active'),
    run: async ({ args: [given = ''], options, output, connect, shell }) => {
      if (options.for !== undefined && !readDuration(options.for)) {
        throw usage('--for is not a valid duration, for example 30m or PT30M');
      }
      const { client } = await connect();
      const id = await findRequest(client, given, shell.signal);
      const idempotencyKey = Buffer.from(shell.randomBytes(16)).toString('hex');
      const elevation = await client.executions.extend(
        id,
        {
          ...(options.for && { duration: toDuration(options.for) }),
          ...(options.reason && { reason: options.reason }),
          idempotencyKey,
        },
        { signal: shell.signal },
      );
      const extension = elevation.output.execution_id;
      const show = options.wait ? output.event : output.result;
      show(elevation, () => output.fields({ request: extension, extends: id, status: elevation.status }));
      return options.wait ? followExecution(client, extension, output, shell, { until: 'active' }) : undefined;
    },
  });
}
