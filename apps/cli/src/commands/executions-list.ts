import { addCommand, type Parent } from '../command.js';
import { describeState } from '../output/describe-state.js';

/** Declares the command `belay executions list`, which lists the caller's open requests. */
export function addExecutionsList(parent: Parent): void {
  addCommand(parent, {
    name: 'list',
    description: 'list your open requests',
    examples: ['executions', 'executions list --json'],
    isDefault: true,
    run: async ({ output, connect, shell: { signal } }) => {
      const { client } = await connect();
      const list = await client.executions.list({ signal });
      output.result(list, () =>
        output.table(
          ['Request', 'Role', 'Providers', 'State', 'Waiting for', 'Started'],
          list.executions.map((execution) => [
            execution.workflow_id,
            execution.role,
            execution.providers.join(', '),
            describeState(execution),
            execution.waiting_for.join(', '),
            execution.start_time,
          ]),
          'No open requests',
        ),
      );
      return undefined;
    },
  });
}
