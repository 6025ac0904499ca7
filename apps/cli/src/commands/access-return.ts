import { addCommand, type Parent } from '../command.js';
import { findRequest } from '../find-request.js';
import { printable } from '../output/printable.js';

/** Declares the command `belay access return <execution>`, which gives back the access of a request before it expires. */
export function addAccessReturn(parent: Parent): void {
  addCommand(parent, {
    name: 'return <execution>',
    description: 'give back the access that a request granted',
    examples: ['access return 0197…'],
    values: { execution: 'access' },
    run: async ({ args: [given = ''], output, connect, shell: { signal } }) => {
      const { client } = await connect();
      const id = await findRequest(client, given, signal);
      const done = await client.access.return(id, { signal });
      output.result({ execution_id: id, ...done }, () => printable(done.message));
      return undefined;
    },
  });
}
