import { addCommand, type Parent } from '../command.js';
import { findRequest } from '../find-request.js';

/** Declares the command `belay open [id]`, which opens the page of a request, or the first page, in the browser. */
export function addOpen(parent: Parent): void {
  addCommand(parent, {
    name: 'open [id]',
    description: 'open a request, or the first page, in the browser',
    examples: ['open', 'open 0197…'],
    values: { id: 'executions' },
    run: async ({ args: [id], output, connect, shell }) => {
      const { client, server } = await connect();
      const request = id === undefined ? undefined : await findRequest(client, id, shell.signal);
      const url = request === undefined ? `${server}/` : `${server}/requests/${encodeURIComponent(request)}`;
      shell.openBrowser(url);
      output.result({ url }, () => url);
      return undefined;
    },
  });
}
