import { addCommand, type Parent } from '../command.js';

/** `belay inbox`: what waits for the caller's decision. */
export function addInbox(parent: Parent): void {
  addCommand(parent, {
    name: 'inbox',
    description: 'list the requests that wait for your decision',
    examples: ['inbox', 'inbox --json'],
    run: async ({ output, connect, shell: { signal } }) => {
      const { client } = await connect();
      const inbox = await client.approvals.list({ signal });
      output.result(inbox, () =>
        output.table(
          ['Approval', 'From', 'Role', 'Providers', 'For', 'Reason', 'Until'],
          inbox.approvals.map((entry) => [
            entry.id,
            entry.requester.email,
            entry.role,
            entry.providers.join(', '),
            entry.duration,
            entry.reason,
            entry.expires_at,
          ]),
          'Nothing waits for your decision.',
        ),
      );
      return undefined;
    },
  });
}
