import { addCommand, type Parent } from '../command.js';
import { describeTimeLeft } from '../duration.js';

/** Declares the command `belay whoami`, which shows the signed-in person and when the session expires. */
export function addWhoami(parent: Parent): void {
  addCommand(parent, {
    name: 'whoami',
    description: 'show who you are signed in as, at which server and until when',
    examples: ['whoami', 'whoami --json'],
    items: () => undefined,
    run: async ({ output, connect, shell }) => {
      const { server, origin, client, expiresAt } = await connect();
      const me = await client.auth.whoami({ signal: shell.signal });
      const until = me.expires_at ?? expiresAt;
      output.result({ server, found_by: origin, ...me, ...(until && { expires_at: until }) }, () =>
        output.fields({
          email: me.email,
          name: me.name,
          groups: me.groups.join(', '),
          provider: me.provider,
          server,
          'found by': origin,
          until,
          left: describeTimeLeft(until, shell.clock()),
        }),
      );
      return undefined;
    },
  });
}
