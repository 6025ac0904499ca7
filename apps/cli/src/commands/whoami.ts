import { addCommand, type Parent } from '../command.js';

/** `belay whoami`: the person the server takes the caller for. */
export function addWhoami(parent: Parent): void {
  addCommand(parent, {
    name: 'whoami',
    description: 'say who you are signed in as',
    run: async ({ output, connect, shell }) => {
      const { server, client } = await connect();
      const me = await client.auth.whoami({ signal: shell.signal });
      output.result({ server, ...me }, () =>
        output.fields({
          email: me.email,
          name: me.name,
          groups: me.groups.join(', '),
          provider: me.provider,
          server,
          until: me.expires_at,
        }),
      );
      return undefined;
    },
  });
}
