import { addCommand, type Parent } from '../command.js';
import { describeState } from '../output/describe-state.js';

/** Declares the command `belay executions list`, which lists the caller's open requests. */
export function addExecutionsList(parent: Parent): void {
  addCommand(parent, {
    name: 'list',
    description: 'list your open requests',
    examples: ['executions', 'executions list --json'],
    isDefault: true,
    items: ({ executions }) => executions,
    run: async ({ output, connect, shell: { signal } }) => {
      const { client } = await connect();
      const list = await client.executions.list({ signal });
      const ids = output.ids(list.executions.map(({ workflow_id }) => workflow_id));
      output.result(list, () =>
        output.table(
          ['Request', 'Role', 'Providers', 'State', 'Waiting for', 'Started'],
          list.executions.map((execution, index) => [
            ids[index],
            execution.role,
            execution.providers.join(', '),
            describeState(execution),
            execution.waiting_for.join(', '),
            output.time(execution.start_time),
          ]),
          'No open requests',
        ),
      );
      return undefined;
    },
  });
}
