import { addCommand, type Parent } from '../command.js';
import { decideMany } from '../decide-many.js';
import { findApproval } from '../find-approval.js';

interface Options {
  comment?: string;
}

/**
 * Declares the command `belay deny [id...]`, which denies requests. It needs no confirmation, because a denial grants
 * nothing.
 */
export function addDeny(parent: Parent): void {
  addCommand<Options>(parent, {
    name: 'deny [id...]',
    description:
      'deny a request, by its id or the beginning of it, or several for the same access; without one, pick on a terminal',
    examples: ["deny 0197… --comment 'ask again on Monday'"],
    values: { id: 'approvals' },
    options: (command) => command.option('--comment <text>', 'a comment that the requester can read'),
    run: async (invocation) => {
      const { args, options, output, interactive, connect, shell } = invocation;
      const { client } = await connect();
      if (args.length > 1) return decideMany(client, 'deny', invocation);
      const [id] = args;
      const entry = await findApproval(client, id, { shell, interactive });
      const decided = await client.approvals.decide(
        { id: entry.id, verdict: 'deny', ...(options.comment && { comment: options.comment }) },
        { signal: shell.signal },
      );
      output.result(decided, () => output.fields({ approval: decided.id, status: decided.status }));
      return undefined;
    },
  });
}
