import { addCommand, type Parent } from '../command.js';
import { describeTimeLeft } from '../duration.js';

/**
 * Declares the command `belay sessions`, which lists the sessions with providers by version and expiry. It never prints the tokens that an
 * agent returns.
 */
export function addSessions(parent: Parent): void {
  addCommand(parent, {
    name: 'sessions',
    description: 'show your sessions with providers, their versions and when they expire',
    examples: ['sessions', 'sessions --json'],
    run: async ({ output, connect, shell }) => {
      const { server, client } = await connect('any');
      const list = await client.sessions.list({ signal: shell.signal });
      const sessions = Object.fromEntries(
        Object.entries(list.sessions).map(([provider, { version, expiry }]) => [provider, { version, expiry }]),
      );
      output.result({ server, sessions }, () =>
        output.table(
          ['Provider', 'Version', 'Until', 'Left'],
          Object.entries(sessions).map(([provider, { version, expiry }]) => [
            provider,
            version,
            output.time(expiry),
            describeTimeLeft(expiry, shell.clock()),
          ]),
          'No sessions with providers',
        ),
      );
      return undefined;
    },
  });
}
