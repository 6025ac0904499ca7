import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openEncryption as openLocal } from '../../src/local/encryption.js';
import { openEncryptionService } from '../../src/services/open.js';
import type { EncryptionService, ServiceTools } from '../../src/services/port.js';
import { awsCredentials, startAwsServer } from '../support/aws-server.js';
import { azureClient, azureSecrets, startAzureServer, vaultHost } from '../support/azure-server.js';
import { type EncryptionSubject, encryptionSuite, remoteEncryptionSuite } from '../support/encryption-suite.js';
import type { FakeServer } from '../support/fake-server.js';
import { googleCredentials, googleSecrets, startGoogleServer } from '../support/google-server.js';
import { hashicorpRole, hashicorpSettings, rootToken, startHashicorpServer } from '../support/hashicorp-server.js';
import { resolveToThisMachine } from '../support/resolve-names.js';
import { createTools, faultOf } from '../support/tools.js';

const names = ['first', 'second'] as const;
type Remote = EncryptionSubject & { server: FakeServer };

async function openService(config: object, tools: ServiceTools): Promise<EncryptionService> {
  const opened = await openEncryptionService(config, tools);
  if (!opened) throw new Error('no service');
  return opened.service;
}

const remote = (
  server: FakeServer,
  secrets: string[],
  config: (key: string) => object,
  more: Partial<ServiceTools> = {},
): Remote => ({
  server,
  secrets,
  open: (key, tools) => openService(config(key), Object.assign(tools, more)),
  [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
});

let stopResolving = () => {};
beforeAll(() => {
  stopResolving = resolveToThisMachine([vaultHost, 'login.test']);
});
afterAll(() => stopResolving());

describe('local', () => {
  encryptionSuite(async () => {
    const ring = (id: string) => ({ id, material: randomBytes(32) });
    const keys = { first: ring('first'), second: ring('second') };
    return {
      secrets: [],
      open: async (key, tools) => openLocal(async () => [keys[key]], tools),
      [Symbol.asyncDispose]: async () => {},
    };
  });

  it('unwraps with every key and wraps with the first, so that a secret can be rotated', async () => {
    const [before, after] = [
      { id: 'before', material: randomBytes(32) },
      { id: 'after', material: randomBytes(32) },
    ];
    const tools = createTools();
    const { signal } = new AbortController();
    const wrapped = await openLocal(async () => [before], tools).wrap(Buffer.from('x'), signal);
    const rotated = openLocal(async () => [after, before], tools);
    expect(Buffer.from(await rotated.unwrap(wrapped, signal)).toString()).toBe('x');
    expect((await rotated.wrap(Buffer.from('x'), signal)).key).toBe('after');
    const fault = await faultOf(openLocal(async () => [after], tools).unwrap(wrapped, signal));
    expect(fault.message).toContain('another BELAY_SECRET');
  });
});

const awsSubject = async () => {
  const server = await startAwsServer({ keys: [...names] });
  return remote(server, [awsCredentials.secret_access_key], (key) => ({
    provider: 'aws',
    ...awsCredentials,
    endpoint: server.url,
    key,
  }));
};
describe('aws', () => {
  encryptionSuite(awsSubject);
  remoteEncryptionSuite(awsSubject);
});

const googleKey = (key: string) => `projects/belay/locations/global/keyRings/belay/cryptoKeys/${key}`;
const googleSubject = async () => {
  const server = await startGoogleServer({ keys: names.map(googleKey) });
  return remote(server, googleSecrets, (key) => ({
    provider: 'google',
    endpoint: server.url,
    credentials: googleCredentials(server),
    key: googleKey(key),
  }));
};
describe('google', () => {
  encryptionSuite(googleSubject);
  remoteEncryptionSuite(googleSubject);
});

const azureSubject = async () => {
  const server = await startAzureServer({ keys: [...names] });
  const { vaultUrl, authority, certificateAuthority } = server;
  const config = (key: string) => ({ provider: 'azure', vault_url: vaultUrl, authority, ...azureClient, key });
  return remote(server, azureSecrets, config, { certificateAuthority });
};
describe('azure', () => {
  encryptionSuite(azureSubject);
  remoteEncryptionSuite(azureSubject);
});

const hashicorpSubject = (login: object) => async () => {
  const server = await startHashicorpServer({ keys: [...names] });
  const settings = { ...hashicorpSettings, ...login, provider: 'hashicorp', address: server.url };
  return remote(server, [rootToken, hashicorpRole.secret_id, 'hvs.of-a-role'], (key) => ({ ...settings, key }));
};
describe('hashicorp', () => {
  encryptionSuite(hashicorpSubject({ token: rootToken }));
  remoteEncryptionSuite(hashicorpSubject(hashicorpRole));

  it('signs in again when the token of its role was revoked, and no more often than that', async () => {
    await using server = await startHashicorpServer({ keys: ['first'] });
    const settings = { ...hashicorpSettings, ...hashicorpRole, provider: 'hashicorp', address: server.url };
    const service = await openService({ ...settings, key: 'first' }, createTools());
    const { signal } = new AbortController();
    const wrapped = await service.wrap(randomBytes(32), signal);
    await service.unwrap(wrapped, signal);
    expect(server.logins).toBe(1);
    server.tokens.clear();
    await service.unwrap(wrapped, signal);
    expect(server.logins).toBe(2);
  });
});
