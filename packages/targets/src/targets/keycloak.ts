import { findFreePort } from '@belay/host';
import { programs } from './names.js';
import { makeScratch, removeScratch, start } from './run.js';

export interface KeycloakTarget extends AsyncDisposable {
  url: string;
  /**
   * Calls the administration API below `/admin/realms`, and returns the body of its response, or undefined without one.
   * Throws with the response when it is an error.
   */
  manage(method: string, path: string, body?: unknown): Promise<unknown>;
}

const admin = { username: 'admin', password: 'of-a-test' };

/** Starts Keycloak without TLS on loopback, with a database in memory and no realm but `master`. */
export async function startKeycloak(): Promise<KeycloakTarget> {
  const scratch = await makeScratch('keycloak');
  const port = await findFreePort('127.0.0.1');
  const url = `http://127.0.0.1:${port}`;
  const server = await start(
    'env',
    [
      ...[`KC_BOOTSTRAP_ADMIN_USERNAME=${admin.username}`, `KC_BOOTSTRAP_ADMIN_PASSWORD=${admin.password}`],
      // A small machine has little memory, and a test has few users.
      'JAVA_OPTS_KC_HEAP=-Xms64m -Xmx384m',
      ...[programs.keycloak, 'start', '--optimized', '--cache=local', '--http-enabled=true', '--http-host=127.0.0.1'],
      ...[`--http-port=${port}`, `--hostname=${url}`],
    ],
    {
      scratch,
      ready: async () => (await fetch(`${url}/realms/master`)).ok,
    },
  );
  /** Returns a new token for each call, because a token is valid for one minute. */
  const signIn = async () => {
    const answer = await fetch(`${url}/realms/master/protocol/openid-connect/token`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'password', client_id: 'admin-cli', ...admin }),
    });
    return ((await answer.json()) as { access_token: string }).access_token;
  };
  return {
    url,
    async manage(method, path, body) {
      const answer = await fetch(`${url}/admin/realms${path}`, {
        method,
        headers: { authorization: `Bearer ${await signIn()}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
      return text === '' ? undefined : JSON.parse(text);
    },
    async [Symbol.asyncDispose]() {
      await server.stop();
      await removeScratch(scratch);
    },
  };
}
