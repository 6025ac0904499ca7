import { constants, generateKeyPairSync, type KeyObject, privateDecrypt, publicEncrypt } from 'node:crypto';
import { makeCertificate } from './certificate.js';
import { type Answer, type FakeServer, startFakeServer } from './fake-server.js';

export const azureClient = {
  tenant_id: 'belay-tenant',
  client_id: 'belay-client',
  client_secret: 'the-client-secret-of-belay',
};
const accessToken = 'eyJ.the-access-token-of-belay.sig';
export const azureSecrets = [azureClient.client_secret, accessToken];
/** Names that the tests resolve to this machine. As at Azure, the vault's host is below the resource that its challenge names. */
export const vaultHost = 'belay.vault.test';
const loginHost = 'login.test';

export interface AzureServer extends FakeServer {
  vaultUrl: string;
  authority: string;
  certificateAuthority: string;
}

const made = new Map<string, KeyObject>();

/** Returns the key of a name. All servers of this process share it, because making a key takes longer than a test. */
function readKey(name: string): KeyObject {
  const key = made.get(name) ?? generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  made.set(name, key);
  return key;
}

/**
 * Serves Azure Key Vault and the token endpoint of its tenant, both over TLS: a request without a token gets a
 * challenge.
 */
export async function startAzureServer(options: {
  keys?: string[];
  secrets?: Record<string, string>;
}): Promise<AzureServer> {
  const tls = makeCertificate([vaultHost, loginHost]);
  const keys = new Map((options.keys ?? []).map((name) => [name, readKey(name)]));
  let port = 0;
  const base = () => `https://${loginHost}:${port}`;
  const fake = await startFakeServer({
    tls,
    forbidden: refusal(403, 'Forbidden'),
    identity({ path, host, body, method }) {
      if (!host.startsWith(loginHost)) return undefined;
      const tenant = `${base()}/${azureClient.tenant_id}`;
      if (path.includes('openid-configuration')) {
        const endpoints = {
          token_endpoint: `${tenant}/oauth2/v2.0/token`,
          authorization_endpoint: `${tenant}/oauth2/v2.0/authorize`,
          issuer: `${tenant}/v2.0`,
          jwks_uri: `${tenant}/discovery/v2.0/keys`,
        };
        return { status: 200, body: endpoints };
      }
      const form = new URLSearchParams(body);
      const right =
        method === 'POST' &&
        path.startsWith(`/${azureClient.tenant_id}/oauth2/v2.0/token`) &&
        form.get('grant_type') === 'client_credentials' &&
        form.get('client_secret') === azureClient.client_secret &&
        (form.get('scope') ?? '').includes('https://vault.test/.default');
      if (!right) return { status: 401, body: { error: 'invalid_client', error_description: 'no' } };
      return { status: 200, body: { token_type: 'Bearer', expires_in: 3599, access_token: accessToken } };
    },
    answer({ method, path, headers, body }) {
      if (headers.authorization !== `Bearer ${accessToken}`) {
        const challenge = `Bearer authorization="${base()}/${azureClient.tenant_id}", resource="https://vault.test"`;
        return { ...refusal(401, 'Unauthorized'), headers: { 'www-authenticate': challenge } };
      }
      const [, kind, name = '', version = '', verb] =
        /^\/(keys|secrets)\/([^/?]+)\/?([^/?]*)\/?([^/?]*)\?/.exec(path) ?? [];
      if (kind === 'secrets') {
        const value = options.secrets?.[name];
        if (value === undefined) return refusal(404, 'SecretNotFound');
        return { status: 200, body: { value, id: `https://${vaultHost}:${port}/secrets/${name}/1`, attributes: {} } };
      }
      const key = keys.get(name);
      if (!key || (version !== '' && version !== 'v1')) return refusal(404, 'KeyNotFound');
      const kid = `https://${vaultHost}:${port}/keys/${name}/v1`;
      if (method === 'GET') {
        const { kty, n, e } = key.export({ format: 'jwk' });
        return { status: 200, body: { key: { kid, kty, n, e, key_ops: ['wrapKey', 'unwrapKey'] }, attributes: {} } };
      }
      if (method !== 'POST' || (verb !== 'unwrapkey' && verb !== 'wrapkey')) return refusal(400, 'BadParameter');
      const input = JSON.parse(body) as { alg: string; value: string };
      if (input.alg !== 'RSA-OAEP-256') return refusal(400, 'BadParameter');
      try {
        const value = Buffer.from(input.value, 'base64url');
        const rsa = { key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' };
        const done = verb === 'wrapkey' ? publicEncrypt(rsa, value) : privateDecrypt(rsa, value);
        return { status: 200, body: { kid, value: done.toString('base64url') } };
      } catch {
        return refusal(400, 'BadParameter');
      }
    },
  });
  port = fake.port;
  return Object.assign(fake, {
    vaultUrl: `https://${vaultHost}:${port}`,
    authority: base(),
    certificateAuthority: tls.cert,
  });
}

function refusal(status: number, code: string): Answer {
  return { status, body: { error: { code, message: 'no' } } };
}
