import { addCommand, type Parent } from '../command.js';

/** Declares the command `belay logout`, which ends the session at the server and deletes its token. Succeeds when the session has already ended. */
export function addLogout(parent: Parent): void {
  addCommand(parent, {
    name: 'logout',
    description: 'sign out',
    examples: ['logout'],
    run: async ({ output, connect, shell }) => {
      const { server, client, credentials, signedIn } = await connect();
      if (signedIn) {
        const { isBelayError } = await import('@belay/sdk');
        await client.auth.logout(undefined, { signal: shell.signal }).catch((error: unknown) => {
          if (!isBelayError(error, 'unauthenticated')) throw error;
        });
      }
      await credentials.remove(server);
      const message = signedIn ? `signed out of ${server}` : `not signed in to ${server}`;
      output.result({ server, message }, () => message);
      return undefined;
    },
  });
}
