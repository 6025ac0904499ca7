import { addCommand, type Parent } from '../command.js';
import { findRequest } from '../find-request.js';
import { printable } from '../output/printable.js';

/** Declares the command `belay executions terminate <id>`, which terminates a request without clean-up; its access ends at once. */
export function addExecutionsTerminate(parent: Parent): void {
  addCommand(parent, {
    name: 'terminate <id>',
    description: 'terminate a request without clean-up; its access ends at once',
    examples: ['executions terminate 0197…'],
    values: { id: 'executions' },
    run: async ({ args: [given = ''], output, connect, shell: { signal } }) => {
      const { client } = await connect();
      const id = await findRequest(client, given, signal);
      const done = await client.executions.terminate(id, { signal });
      output.result({ execution_id: id, ...done }, () => printable(done.message));
      return undefined;
    },
  });
}
