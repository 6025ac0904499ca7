import type { BelayClient, InboxEntry, Verdict } from '@belay/sdk';
import { CliError, usage } from './cli-error.js';
import type { Invocation } from './command.js';
import { exitCodes } from './exit-codes.js';
import { findApproval } from './find-approval.js';
import { renderRequest } from './output/render-request.js';

/**
 * Decides several requests for the same access. Before an approval, it shows what each grants and prompts once; it sends the digests of
 * what it showed. Resolves to the exit code, which is `failed` when the server rejected a decision.
 */
export async function decideMany(
  client: BelayClient,
  verdict: Verdict,
  { args, options, output, interactive, shell }: Invocation<{ comment?: string; yes?: boolean }>,
): Promise<number> {
  const entries: InboxEntry[] = [];
  for (const id of args) {
    const entry = await findApproval(client, id, { shell, interactive });
    if (!entries.some((each) => each.id === entry.id)) entries.push(entry);
  }
  if (verdict === 'approve') {
    for (const entry of entries) output.note(`${renderRequest(entry, output)}\n`);
    if (options.yes !== true) {
      if (!interactive) throw usage('approval needs a confirmation on a terminal; use --yes to approve without it');
      const question = `Approve these ${entries.length} requests?`;
      if (!(await shell.prompts.confirm(question))) throw new CliError('aborted', 'not approved');
    }
  }
  const decided = await client.approvals.decideMany(
    {
      verdict,
      ids: entries.map(({ id }) => id),
      request_digests: [...new Set(entries.map(({ request_digest }) => request_digest))],
      ...(options.comment && { comment: options.comment }),
    },
    { signal: shell.signal },
  );
  output.result(decided, () =>
    output.table(
      ['Approval', 'Request', 'Result'],
      decided.results.map(({ id, execution_id, status, error }) => [id, execution_id, status ?? error?.message]),
      'No requests',
    ),
  );
  return decided.rejected > 0 ? exitCodes.failed : exitCodes.ok;
}
