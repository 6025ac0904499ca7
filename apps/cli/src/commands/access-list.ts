import { addCommand, type Parent } from '../command.js';
import { renderAccess } from '../output/render-access.js';

/** `belay access list`: what the caller holds now. */
export function addAccessList(parent: Parent): void {
  addCommand(parent, {
    name: 'list',
    description: 'list the access you hold',
    isDefault: true,
    run: async ({ output, connect, shell: { signal } }) => {
      const { client } = await connect();
      const list = await client.access.list({ signal });
      output.result(list, () => renderAccess(list.access, output));
      return undefined;
    },
  });
}
