import type { AccessList } from '@belay/sdk';
import { usage } from '../cli-error.js';
import { addCommand, type Invocation, type Parent } from '../command.js';
import { renderAccess } from '../output/render-access.js';

interface Options {
  watch?: boolean;
}

/** How often the list is fetched while the countdown runs, in milliseconds; the countdown is drawn every second. */
const refresh = 15_000;
const tick = 1_000;

/** Shows active access with a countdown until Ctrl-C. */
async function countDown(
  read: () => Promise<AccessList>,
  { output, shell }: Pick<Invocation<Options>, 'output' | 'shell'>,
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
  addCommand<Options>(parent, {
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
