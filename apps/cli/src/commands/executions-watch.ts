import { usage } from '../cli-error.js';
import { addCommand, type Parent } from '../command.js';
import { findRequest } from '../find-request.js';
import { followExecution } from '../follow-execution.js';

interface Options {
  after?: string;
}

/** Declares the command `belay executions watch <id>`, which prints every event until the request has ended; exits with 8 when it ended without access. */
export function addExecutionsWatch(parent: Parent): void {
  addCommand<Options>(parent, {
    name: 'watch <id>',
    description: 'follow a request until it has ended',
    examples: ['executions watch 0197…', 'executions watch 0197… --json --after 42'],
    values: { id: 'executions' },
    options: (command) => command.option('--after <seq>', 'start after the event with this seq'),
    run: async ({ args: [given = ''], options: { after }, output, connect, shell }) => {
      if (after !== undefined && !/^\d{1,15}$/.test(after))
        throw usage('--after must be the seq of an event, which is a number');
      const { client } = await connect();
      const id = await findRequest(client, given, shell.signal);
      return followExecution(client, id, output, shell, { until: 'over', lastEventId: after });
    },
  });
}
