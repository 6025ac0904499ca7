import { printable } from '@belay/contract/printable';
import type { AccessGrant, AccessList } from '@belay/sdk';
import { usage } from '../cli-error.js';
import { addCommand, type Invocation, type Parent } from '../command.js';
import { describeTimeLeft } from '../duration.js';
import { findRequest } from '../find-request.js';
import type { Output } from '../output/output.js';
import { describeAccess, nameRole } from '../output/render-request.js';

interface ListOptions {
  watch?: boolean;
}

/** How often the list is fetched while the countdown runs, in milliseconds; the countdown is drawn every second. */
const refresh = 15_000;
const tick = 1_000;

/** Shows active access with a countdown until Ctrl-C. */
async function countDown(
  read: () => Promise<AccessList>,
  { output, shell }: Pick<Invocation<ListOptions>, 'output' | 'shell'>,
): Promise<never> {
  let lines = 0;
  for (;;) {
    const list = await read();
    for (let shown = 0; shown < refresh; shown += tick) {
      const text = renderAccess(list.access, output, shell.clock());
      // Overwrite the previous output: move up to its first line and erase from there.
      if (lines > 0) shell.stdout.write(`\u001b[${lines}A\u001b[0J`);
      shell.stdout.write(`${text}\n`);
      lines = text.split('\n').length;
      await shell.delay(tick, shell.signal);
    }
  }
}

/** Declares the command `belay access list`, which lists the caller's active access and the time left. */
export function addAccessList(parent: Parent): void {
  addCommand<ListOptions>(parent, {
    name: 'list',
    description: 'list your active access and the time left',
    examples: ['access', 'access list --watch', 'access --json'],
    isDefault: true,
    items: ({ access }) => access,
    options: (command) =>
      command.option('--watch', 'keep running and show the time left, until Ctrl-C (on a terminal)'),
    run: async ({ options, output, connect, shell }) => {
      if (options.watch === true && (!shell.animated || shell.stdout.isTTY !== true || output.json)) {
        throw usage('--watch needs a terminal; elsewhere, run belay access --json repeatedly');
      }
      const { client } = await connect();
      const read = () => client.access.list({ signal: shell.signal });
      if (options.watch === true) return countDown(read, { output, shell });
      const list = await read();
      output.result(list, () => renderAccess(list.access, output, shell.clock()));
      return undefined;
    },
  });
}

/** Renders active access with identity, expiry and time left. */
function renderAccess(access: AccessGrant[], output: Output, now: Date): string {
  const ids = output.ids(access.map(({ execution_id }) => execution_id));
  return output.table(
    ['Request', 'Role', 'Provider', 'Identity', 'Access', 'State', ...(output.terminal ? [] : ['Until']), 'Left'],
    access.map((grant, index) => [
      ids[index],
      nameRole(grant.role, grant.break_glass),
      grant.provider,
      grant.identity,
      describeAccess(grant.access),
      grant.pending ? 'waiting for the provider' : grant.state,
      ...(output.terminal ? [] : [grant.expires_at]),
      describeTimeLeft(grant.expires_at, now),
    ]),
    'No active access',
  );
}

/** Declares the command `belay access return <execution>`, which gives back the access of a request before it expires. */
export function addAccessReturn(parent: Parent): void {
  addCommand(parent, {
    name: 'return <execution>',
    description: 'give back the access that a request granted',
    examples: ['access return 0197…'],
    values: { execution: 'access' },
    run: async ({ args: [given = ''], output, connect, shell: { signal } }) => {
      const { client } = await connect();
      const id = await findRequest(client, given, signal);
      const done = await client.access.return(id, { signal });
      output.result({ execution_id: id, ...done }, () => printable(done.message));
      return undefined;
    },
  });
}

/**
 * Declares the command `belay access revoke <execution or e-mail>`, which revokes the access of a request or a person
 * now. It needs the server's own database, and is recorded in the audit log with the reason. A worker revokes within
 * seconds.
 */
export function addAccessRevoke(parent: Parent): void {
  addCommand<{ reason: string }>(parent, {
    name: 'revoke <of>',
    here: true,
    description:
      'revoke the access of a request, or of a person by e-mail, now (for operators, on the server’s machine)',
    examples: ["access revoke rita@example.com --reason 'laptop stolen'"],
    options: (command) => command.requiredOption('--reason <text>', 'the reason, written to the audit log'),
    run: async ({ args: [of = ''], options: { reason }, output, shell }) => {
      const done = await shell.operator.revokeAccess({ of, reason });
      output.result(done, () => printable(done.message));
      return undefined;
    },
  });
}
