import { type Answer, type FakeServer, startFakeServer } from './fake-server.js';
import { createKeys } from './keys.js';

export const hashicorpRole = { role_id: 'the-role-of-belay', secret_id: 'the-secret-id-of-belay' };
export const rootToken = 'hvs.the-token-of-belay';
const namespace = 'team/belay';

export interface HashicorpServer extends FakeServer {
  /** The valid tokens that were issued to a role. */
  tokens: Set<string>;
  logins: number;
}

/** Serves HashiCorp Vault's HTTP API: AppRole, namespaces, the transit engine and KV version 2. */
export async function startHashicorpServer(options: {
  keys?: string[];
  secrets?: Record<string, Record<string, unknown> | null>;
}): Promise<HashicorpServer> {
  const keys = createKeys(options.keys ?? []);
  const state = { tokens: new Set<string>(), logins: 0 };
  const fake = await startFakeServer({
    forbidden: refusal(403, 'permission denied'),
    identity({ path, headers, body }) {
      if (path !== '/v1/auth/approle/login') return undefined;
      const { role_id, secret_id } = JSON.parse(body) as Record<string, string>;
      const right = role_id === hashicorpRole.role_id && secret_id === hashicorpRole.secret_id;
      if (!right || headers['x-vault-namespace'] !== namespace) return refusal(400, 'invalid role or secret ID');
      state.logins += 1;
      const client_token = `hvs.of-a-role-${state.logins}`;
      state.tokens.add(client_token);
      return { status: 200, body: { auth: { client_token, lease_duration: 3600, renewable: true } } };
    },
    answer({ method, path, headers, body }) {
      const token = String(headers['x-vault-token']);
      if (headers['x-vault-namespace'] !== namespace || headers['x-vault-request'] !== 'true') {
        return refusal(403, 'permission denied');
      }
      if (token !== rootToken && !state.tokens.has(token)) return refusal(403, 'permission denied');
      if (method === 'GET' && path === '/v1/auth/token/lookup-self')
        return { status: 200, body: { data: { ttl: 3600 } } };
      const [, verb, key = ''] = /^\/v1\/transit\/(encrypt|decrypt)\/([^/]+)$/.exec(path) ?? [];
      if (verb !== undefined && method === 'POST') {
        const input = JSON.parse(body) as Record<string, string>;
        if (!keys.has(key)) return refusal(400, 'encryption key not found');
        if (verb === 'encrypt') {
          const sealed = keys.seal(key, Buffer.from(input.plaintext ?? '', 'base64'));
          return {
            status: 200,
            body: { data: { ciphertext: `vault:v1:${sealed?.toString('base64')}`, key_version: 1 } },
          };
        }
        const sealed = Buffer.from((input.ciphertext ?? '').replace('vault:v1:', ''), 'base64');
        const plain = keys.open(key, sealed);
        if (!plain) return refusal(400, 'cipher: message authentication failed');
        return { status: 200, body: { data: { plaintext: plain.toString('base64') } } };
      }
      const [, secret = ''] = /^\/v1\/secret\/data\/(.+)$/.exec(path) ?? [];
      const data = method === 'GET' ? options.secrets?.[decodeURIComponent(secret)] : undefined;
      if (data === undefined) return { status: 404, body: { errors: [] } };
      if (data === null) return { status: 404, body: { data: { data: null, metadata: { deletion_time: 'then' } } } };
      return { status: 200, body: { data: { data, metadata: { version: 2 } } } };
    },
  });
  return Object.defineProperties(fake, {
    tokens: { get: () => state.tokens },
    logins: { get: () => state.logins },
  }) as HashicorpServer;
}

export const hashicorpSettings = { namespace, approle_mount: 'approle' };

function refusal(status: number, message: string): Answer {
  return { status, body: { errors: [message] } };
}
