import { createHash, createHmac } from 'node:crypto';
import { type Answer, type Asked, type FakeServer, startFakeServer } from './fake-server.js';
import { createKeys } from './keys.js';

export const awsCredentials = {
  region: 'eu-central-1',
  access_key_id: 'AKIAIOSFODNN7EXAMPLE',
  secret_access_key: 'the-secret-access-key-of-belay',
};
const account = 'arn:aws:kms:eu-central-1:111122223333:key';

/** Serves the parts of AWS KMS and Secrets Manager that we use: AWS JSON 1.1, each request signed (Signature Version 4). */
export function startAwsServer(options: { keys?: string[]; secrets?: Record<string, string> }): Promise<FakeServer> {
  const keys = createKeys(options.keys ?? []);
  return startFakeServer({
    forbidden: refusal('AccessDeniedException'),
    answer(asked) {
      const service = serviceOf(asked);
      if (!isSigned(asked, service)) return refusal('InvalidSignatureException');
      if (asked.headers['content-type'] !== 'application/x-amz-json-1.1') return refusal('SerializationException');
      const input = JSON.parse(asked.body) as Record<string, never>;
      const context = JSON.stringify(input.EncryptionContext ?? {});
      const key = String(input.KeyId);
      switch (asked.headers['x-amz-target']) {
        case 'TrentService.Encrypt': {
          const sealed = keys.seal(key, Buffer.from(String(input.Plaintext), 'base64'), context);
          if (!sealed) return refusal('NotFoundException');
          return { status: 200, body: { CiphertextBlob: sealed.toString('base64'), KeyId: `${account}/${key}` } };
        }
        case 'TrentService.Decrypt': {
          if (!keys.has(key)) return refusal('NotFoundException');
          const plain = keys.open(key, Buffer.from(String(input.CiphertextBlob), 'base64'), context);
          if (!plain) return refusal('InvalidCiphertextException');
          return { status: 200, body: { Plaintext: plain.toString('base64'), KeyId: `${account}/${key}` } };
        }
        case 'secretsmanager.GetSecretValue': {
          const text = options.secrets?.[String(input.SecretId)];
          if (text === undefined) return refusal('ResourceNotFoundException');
          return { status: 200, body: { Name: input.SecretId, SecretString: text, VersionStages: ['AWSCURRENT'] } };
        }
        default:
          return refusal('UnknownOperationException');
      }
    },
  });
}

/** Returns an error of AWS, which nearly always has status 400 and a type. */
function refusal(type: string): Answer {
  return { status: 400, body: { __type: type, message: 'no' }, headers: { 'x-amzn-errortype': type } };
}

function serviceOf(asked: Asked): string {
  return String(asked.headers['x-amz-target']).startsWith('TrentService') ? 'kms' : 'secretsmanager';
}

/** Returns whether the request is signed with our key (Signature Version 4, the canonical request of a POST to the root). */
function isSigned({ method, path, headers, body }: Asked, service: string): boolean {
  const pattern =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/;
  const [, id, date, region, named, list = '', signature] = pattern.exec(headers.authorization ?? '') ?? [];
  if (id !== awsCredentials.access_key_id || region !== awsCredentials.region || named !== service) return false;
  const hash = (text: string) => createHash('sha256').update(text).digest('hex');
  const lines = list.split(';').map((name) => `${name}:${String(headers[name]).trim()}\n`);
  const canonical = [method, path, '', lines.join(''), list, hash(body)].join('\n');
  const scope = `${date}/${region}/${service}/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', String(headers['x-amz-date']), scope, hash(canonical)].join('\n');
  const hmac = (key: string | Buffer, data: string) => createHmac('sha256', key).update(data).digest();
  const parts = [String(date), region, service, 'aws4_request'];
  const key = parts.reduce<string | Buffer>(hmac, `AWS4${awsCredentials.secret_access_key}`);
  return hmac(key, text).toString('hex') === signature;
}
