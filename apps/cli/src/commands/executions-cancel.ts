import { addCommand, type Parent } from '../command.js';
import { findRequest } from '../find-request.js';
import { printable } from '../output/printable.js';

/** Declares the command `belay executions cancel <id>`, which cancels a request; its workflow can clean up first. */
export function addExecutionsCancel(parent: Parent): void {
  addCommand(parent, {
    name: 'cancel <id>',
    description: 'cancel a request; its workflow can clean up first',
    examples: ['executions cancel 0197…'],
    values: { id: 'executions' },
    run: async ({ args: [given = ''], output, connect, shell: { signal } }) => {
      const { client } = await connect();
      const id = await findRequest(client, given, signal);
      const done = await client.executions.cancel(id, { signal });
      output.result({ execution_id: id, ...done }, () => printable(done.message));
      return undefined;
    },
  });
}
