import { addCommand, type Parent } from '../command.js';
import { findRequest } from '../find-request.js';

/** Declares the command `belay ask <id> <text>`, with which an approver asks the requester for information without deciding. */
export function addAsk(parent: Parent): void {
  addCommand(parent, {
    name: 'ask <id> <text>',
    description: 'ask the requester for information, without deciding',
    examples: ["ask 0197… 'Which ticket is this for?'"],
    values: { id: 'approvals' },
    run: async ({ args: [given = '', text = ''], output, connect, shell: { signal } }) => {
      const { client } = await connect();
      const id = await findRequest(client, given, signal);
      const made = await client.comments.add({ id, text, kind: 'question' }, { signal });
      output.result(made, () => output.fields({ [made.kind]: made.text, written: made.created_at }));
      return undefined;
    },
  });
}

/** Declares the command `belay comment <id> <text>`, which comments on a request without deciding. */
export function addComment(parent: Parent): void {
  addCommand(parent, {
    name: 'comment <id> <text>',
    description: 'comment on a request, or answer a question about your own',
    examples: ["comment 0197… 'the ticket is T-1'"],
    values: { id: 'executions' },
    run: async ({ args: [given = '', text = ''], output, connect, shell: { signal } }) => {
      const { client } = await connect();
      const id = await findRequest(client, given, signal);
      const made = await client.comments.add({ id, text }, { signal });
      output.result(made, () => output.fields({ [made.kind]: made.text, written: made.created_at }));
      return undefined;
    },
  });
}
