import { addCommand, type Parent } from '../command.js';
import { renderAccess } from '../output/render-access.js';

/**
 * `belay sessions`: the login in use and what is held through it. The service has no procedure that lists sessions per
 * provider yet, so this shows what there is and says so.
 */
export function addSessions(parent: Parent): void {
  addCommand(parent, {
    name: 'sessions',
    description: 'show the login in use and the access you hold',
    run: async ({ output, connect, shell: { signal } }) => {
      const { server, client } = await connect();
      const [login, { access }] = await Promise.all([client.auth.whoami({ signal }), client.access.list({ signal })]);
      output.result({ server, login, access }, () =>
        [
          output.fields({ server, email: login.email, provider: login.provider, until: login.expires_at }),
          renderAccess(access, output),
        ]
          .filter(Boolean)
          .join('\n'),
      );
      output.note('This is the login in use; the service cannot list sessions by provider yet.');
      return undefined;
    },
  });
}
