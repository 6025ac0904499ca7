import type { ExecutionFilter } from '@belay/sdk';
import { usage } from '../cli-error.js';
import { addCommand, type Parent } from '../command.js';
import { momentForms, readMoment } from '../moment.js';
import { describeState } from '../output/render-request.js';
import { noteMore, type Paging, withCursor } from '../paging.js';

interface Options extends Omit<ExecutionFilter, 'decided_by' | 'q'>, Paging {
  search?: string;
  decided?: boolean;
  limit: string;
}

/** Declares the command `belay history`, which lists requests in every state, including ended ones. */
export function addHistory(parent: Parent): void {
  addCommand<Options>(parent, {
    name: 'history',
    description: 'list your requests, also those that are over, or those that you decided',
    examples: [
      'history',
      'history --status past --role reporting-readonly',
      'history --decided --from 2026-11-01',
      'history --search "month end" --json',
    ],
    values: { role: 'roles', provider: 'providers' },
    items: ({ executions }) => executions,
    options: (command) =>
      withCursor(
        command
          .option('--status <status>', 'open, active, past, or a state of the workflow, such as cancelled')
          .option('--decided', 'requests that you decided, the latest decision first')
          .option(
            '--person <email>',
            'requests of this person that you may see; anyone, for administrators and auditors',
          )
          .option('--role <role>', 'only this role')
          .option('--provider <provider>', 'only this provider')
          .option('--search <words>', 'words in the reason, the role, a provider or the address')
          .option('--from <time>', `not requested before this: ${momentForms}`)
          .option('--to <time>', 'not requested after this, in the same forms')
          .option('--limit <number>', 'how many to list', '30'),
      ),
    run: async ({ options, output, connect, shell: { signal, clock } }) => {
      const filter = filterOf(options, clock());
      const { client } = await connect();
      const list = await client.executions.list({ ...filter, signal });
      const ids = output.ids(list.executions.map(({ workflow_id }) => workflow_id));
      output.result(list, () =>
        output.table(
          ['Request', 'Person', 'Role', 'Providers', 'State', 'Decided by', 'Requested', 'Ended'],
          list.executions.map((execution, index) => [
            ids[index],
            execution.user,
            execution.role,
            execution.providers.join(', '),
            describeState(execution),
            execution.decided_by.map(({ approver }) => approver).join(', '),
            output.time(execution.requested_at),
            output.time(execution.ended_at),
          ]),
          'No matching requests',
        ),
      );
      noteMore(output, list);
      return undefined;
    },
  });
}

function filterOf(options: Options, now: Date) {
  const { status, decided, person, role, provider, search, cursor } = options;
  const from = readMoment(options.from, { option: '--from', now, bound: 'start' });
  const to = readMoment(options.to, { option: '--to', now, bound: 'end' });
  const limit = Number(options.limit);
  if (!Number.isInteger(limit) || limit < 1 || limit > 500) throw usage('--limit must be a number from 1 to 500');
  return {
    ...(decided === true ? { decided_by: 'me' as const } : {}),
    // Without any filter, the endpoint lists only open requests.
    status: status ?? 'all',
    ...(person && { person }),
    ...(role && { role }),
    ...(provider && { provider }),
    ...(search && { q: search }),
    ...(from && { from }),
    ...(to && { to }),
    ...(cursor && { cursor }),
    limit,
  };
}
