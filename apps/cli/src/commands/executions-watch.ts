import { usage } from '../cli-error.js';
import { addCommand, type Parent } from '../command.js';
import { followExecution } from '../follow-execution.js';

interface Options {
  after?: string;
}

/** `belay executions watch <id>`: every event until it is over; exit code 8 when it ended without access. */
export function addExecutionsWatch(parent: Parent): void {
  addCommand<Options>(parent, {
    name: 'watch <id>',
    description: 'follow one request until it is over',
    examples: ['executions watch 0197…', 'executions watch 0197… --json --after 42'],
    values: { id: 'executions' },
    options: (command) => command.option('--after <seq>', 'begin after this event'),
    run: async ({ args: [id = ''], options: { after }, output, connect, shell }) => {
      if (after !== undefined && !/^\d{1,15}$/.test(after)) throw usage('--after wants the seq of an event, a number');
      const { client } = await connect();
      return followExecution(client, id, output, shell, { until: 'over', lastEventId: after });
    },
  });
}
