import type { InboxSort } from '@belay/sdk';
import { Option } from 'commander';
import { addCommand, type Parent } from '../command.js';
import { nameRole } from '../output/render-request.js';

interface Options {
  requester?: string;
  sort?: InboxSort;
}

/**
 * The most requests to list. By default, the server orders them in turns by requester, so that each requester's first
 * request comes before any second one.
 */
const shown = 100;

/** Declares the command `belay inbox`, which lists the requests that wait for the caller's decision. */
export function addInbox(parent: Parent): void {
  addCommand<Options>(parent, {
    name: 'inbox',
    description: 'list the requests that wait for your decision',
    examples: ['inbox', 'inbox --requester rita@example.com', 'inbox --sort ending'],
    items: ({ approvals }) => approvals,
    options: (command) =>
      command
        .option('--requester <address>', 'show only the requests of this person')
        .addOption(
          new Option(
            '--sort <order>',
            'what comes first: each requester in turn, the oldest, or what ends soonest',
          ).choices(['turns', 'oldest', 'ending']),
        ),
    run: async ({ options: { requester, sort }, output, connect, shell: { signal } }) => {
      const { client } = await connect();
      const inbox = await client.approvals.list(
        { ...(requester !== undefined && { requester }), ...(sort !== undefined && { sort }) },
        { signal, limit: shown },
      );
      const ids = output.ids(inbox.approvals.map(({ id }) => id));
      output.result(inbox, () =>
        output.table(
          ['Approval', 'From', 'Role', 'Providers', 'For', 'Reason', 'Until'],
          inbox.approvals.map((entry, index) => [
            ids[index],
            entry.requester.email,
            nameRole(entry.role, entry.break_glass),
            entry.providers.join(', '),
            output.duration(entry.duration),
            entry.reason,
            output.time(entry.expires_at),
          ]),
          'No requests wait for your decision',
        ),
      );
      if (inbox.next !== null) {
        const counts = inbox.requesters.map(({ email, waiting }) => `${email} (${waiting})`).join(', ');
        output.note(`Showing ${inbox.approvals.length} of ${inbox.total} requests, from ${counts}.`);
        output.note('To show one person’s requests: belay inbox --requester ADDRESS');
      }
      return undefined;
    },
  });
}
