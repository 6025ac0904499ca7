import { addCommand, type Parent } from '../command.js';
import { renderAccess } from '../output/render-access.js';

/** `belay sessions`: the login in use, the sessions with providers, and the access that is held. */
export function addSessions(parent: Parent): void {
  addCommand(parent, {
    name: 'sessions',
    description: 'show the login in use, your sessions with providers and the access you hold',
    run: async ({ output, connect, shell: { signal } }) => {
      const { server, client } = await connect();
      const [login, { sessions }, { access }] = await Promise.all([
        client.auth.whoami({ signal }),
        client.sessions.list({ signal }),
        client.access.list({ signal }),
      ]);
      output.result({ server, login, sessions, access }, () =>
        [
          output.fields({ server, email: login.email, provider: login.provider, until: login.expires_at }),
          output.fields(
            Object.fromEntries(Object.entries(sessions).map(([provider, { expiry }]) => [provider, `until ${expiry}`])),
          ),
          renderAccess(access, output),
        ]
          .filter(Boolean)
          .join('\n'),
      );
      return undefined;
    },
  });
}
