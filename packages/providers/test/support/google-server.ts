import { type Answer, type Asked, type FakeServer, startFakeServer } from './fake-server.js';
import { createKeys } from './keys.js';

const subjectToken = 'the-subject-token-of-belay';
const accessToken = 'ya29.the-access-token-of-belay';
export const googleSecrets = [subjectToken, accessToken];

/** Serves Google Cloud KMS and Secret Manager over REST, and the token exchange of a workload identity (RFC 8693). */
export function startGoogleServer(options: { keys?: string[]; secrets?: Record<string, string> }): Promise<FakeServer> {
  const keys = createKeys(options.keys ?? []);
  return startFakeServer({
    forbidden: refusal(403, 'PERMISSION_DENIED'),
    identity: (asked) => exchangeToken(asked, accessToken),
    answer({ method, path, headers, body }) {
      if (headers.authorization !== `Bearer ${accessToken}`) return refusal(401, 'UNAUTHENTICATED');
      const [route = ''] = path.split('?');
      const [, key = '', verb] = /^\/v1\/(projects\/.*):(encrypt|decrypt)$/.exec(route) ?? [];
      if (verb !== undefined && method === 'POST') {
        if (!keys.has(key)) return refusal(404, 'NOT_FOUND');
        const input = JSON.parse(body) as Record<string, string>;
        const context = input.additionalAuthenticatedData ?? '';
        if (verb === 'encrypt') {
          const sealed = keys.seal(key, Buffer.from(input.plaintext ?? '', 'base64'), context);
          return { status: 200, body: { name: `${key}/cryptoKeyVersions/1`, ciphertext: sealed?.toString('base64') } };
        }
        const plain = keys.open(key, Buffer.from(input.ciphertext ?? '', 'base64'), context);
        return plain
          ? { status: 200, body: { plaintext: plain.toString('base64') } }
          : refusal(400, 'INVALID_ARGUMENT');
      }
      const [, secret = ''] = /^\/v1\/projects\/belay\/secrets\/([^/]+)\/versions\/latest:access$/.exec(route) ?? [];
      const text = method === 'GET' ? options.secrets?.[secret] : undefined;
      if (text === undefined) return refusal(404, 'NOT_FOUND');
      const name = `projects/1/secrets/${secret}/versions/3`;
      return { status: 200, body: { name, payload: { data: Buffer.from(text).toString('base64') } } };
    },
  });
}

/** Returns the response to a request of the token exchange of a workload identity; undefined for other requests. */
export function exchangeToken({ path, body }: Asked, token: string): Answer | undefined {
  if (path === '/subject-token') return { status: 200, body: subjectToken, headers: { 'content-type': 'text/plain' } };
  if (path !== '/token') return undefined;
  const form = new URLSearchParams(body);
  const right =
    form.get('grant_type') === 'urn:ietf:params:oauth:grant-type:token-exchange' &&
    form.get('subject_token') === subjectToken;
  if (!right) return { status: 400, body: { error: 'invalid_grant' } };
  const issued = { access_token: token, token_type: 'Bearer', expires_in: 3600 };
  return { status: 200, body: { ...issued, issued_token_type: 'urn:ietf:params:oauth:token-type:access_token' } };
}

/** Returns the content of a credentials file for a workload that is federated with the fake. */
export function googleCredentials(server: FakeServer): string {
  return JSON.stringify({
    type: 'external_account',
    audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/belay/providers/belay',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    token_url: `${server.url}/token`,
    credential_source: { url: `${server.url}/subject-token` },
    universe_domain: 'googleapis.com',
  });
}

function refusal(code: number, status: string): Answer {
  return { status: code, body: { error: { code, status, message: 'no' } } };
}
