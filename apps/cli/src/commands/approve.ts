import { CliError, usage } from '../cli-error.js';
import { addCommand, type Parent } from '../command.js';
import { decideMany } from '../decide-many.js';
import { findApproval } from '../find-approval.js';
import { renderRequest } from '../output/render-request.js';

interface Options {
  comment?: string;
  yes?: boolean;
  digest?: string;
}

/**
 * Declares the command `belay approve [id...]`, which shows exactly what will be granted, prompts for a confirmation
 * unless `--yes` is given, and sends the digest of what it showed. The server rejects the approval when the request has
 * changed since.
 */
export function addApprove(parent: Parent): void {
  addCommand<Options>(parent, {
    name: 'approve [id...]',
    description:
      'approve a request, by its id or the beginning of it, or several for the same access; without one, pick on a terminal',
    examples: ['approve 0197…', "approve 0197… --yes --comment 'for the month end'"],
    values: { id: 'approvals' },
    options: (command) =>
      command
        .option('--comment <text>', 'a comment that the requester can read')
        .option('--digest <digest>', 'approve only if the request still has this digest')
        .option('--yes', 'approve without confirmation'),
    run: async (invocation) => {
      const { args, options, output, interactive, connect, shell } = invocation;
      const { client } = await connect();
      if (args.length > 1) {
        if (options.digest !== undefined) throw usage('--digest belongs to a single request; name only that one');
        return decideMany(client, 'approve', invocation);
      }
      const [id] = args;
      const entry = await findApproval(client, id, { shell, interactive });
      if (options.digest !== undefined && options.digest !== entry.request_digest) {
        throw new CliError(
          'conflict',
          `the request has changed since you viewed it; its digest is now ${entry.request_digest}`,
        );
      }
      output.note(renderRequest(entry, output));
      if (options.yes !== true) {
        if (!interactive) throw usage('approval needs a confirmation on a terminal; use --yes to approve without it');
        if (!(await shell.prompts.confirm('Approve this request?'))) throw new CliError('aborted', 'not approved');
      }
      const { request_digest } = entry;
      const decided = await client.approvals.decide(
        { id: entry.id, verdict: 'approve', request_digest, ...(options.comment && { comment: options.comment }) },
        { signal: shell.signal },
      );
      output.result({ ...decided, approved: entry }, () =>
        output.fields({
          approval: decided.id,
          status: decided.status,
          ...(decided.stages > 1 ? { stage: `${decided.stage} of ${decided.stages}` } : {}),
        }),
      );
      return undefined;
    },
  });
}
