import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Retryable, Terminal } from '../../src/errors.js';
import { openLocalVault } from '../../src/local/vault.js';
import { openVaultService } from '../../src/services/open.js';
import type { LocalKey, ServiceTools, VaultFile } from '../../src/services/port.js';
import { awsCredentials, startAwsServer } from '../support/aws-server.js';
import { azureClient, azureSecrets, startAzureServer, vaultHost } from '../support/azure-server.js';
import { type FakeServer, startFakeServer } from '../support/fake-server.js';
import { googleCredentials, googleSecrets, startGoogleServer } from '../support/google-server.js';
import { hashicorpRole, hashicorpSettings, rootToken, startHashicorpServer } from '../support/hashicorp-server.js';
import { resolveToThisMachine } from '../support/resolve-names.js';
import { createTools, everythingIn, faultOf } from '../support/tools.js';
import { remoteVaultSuite, stored, type VaultSubject, vaultSuite } from '../support/vault-suite.js';

const { signal } = new AbortController();
const text = JSON.stringify({ [stored.key]: stored.value });

/** Returns a disk with one file. */
function createFile(): VaultFile & { text: string | undefined } {
  const file = {
    text: undefined as string | undefined,
    read: async () => file.text,
    replace: async (_path: string, written: string) => {
      file.text = written;
    },
  };
  return file;
}

const noFile = { file: createFile(), path: 'vault', keys: async (): Promise<LocalKey[]> => [] };

const remote = (server: FakeServer, secrets: string[], config: object, more: Partial<ServiceTools> = {}) => ({
  server,
  secrets,
  open: (tools: ServiceTools) => openVaultService(config, Object.assign(tools, more, { local: noFile })),
  [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
});

let stopResolving = () => {};
beforeAll(() => {
  stopResolving = resolveToThisMachine([vaultHost, 'login.test']);
});
afterAll(() => stopResolving());

describe('local', () => {
  const keyOf = (id: string): LocalKey => ({ id, material: randomBytes(32) });

  vaultSuite(async (): Promise<VaultSubject> => {
    const file = createFile();
    const key = keyOf('now');
    const local = { file, path: 'vault', keys: async () => [key] };
    await openLocalVault({}, local, createTools()).set(stored, stored.value, signal);
    return {
      secrets: [],
      open: (tools) => openVaultService({ provider: 'local' }, { ...tools, local }),
      [Symbol.asyncDispose]: async () => {},
    };
  });

  it('keeps names and values sealed, lists names only, and forgets what is removed', async () => {
    const file = createFile();
    const key = keyOf('now');
    const vault = openLocalVault({}, { file, path: 'vault', keys: async () => [key] }, createTools());
    await vault.set(stored, stored.value, signal);
    await vault.set({ path: 'database', key: 'user' }, 'belay', signal);
    await vault.set({ path: '__proto__', key: 'constructor' }, 'not a trick', signal);
    expect(file.text).not.toContain('database');
    expect(file.text).not.toContain(stored.value);
    expect(await vault.list(signal)).toEqual([
      { path: '__proto__', key: 'constructor' },
      { path: 'database', key: 'password' },
      { path: 'database', key: 'user' },
    ]);
    expect(await vault.read({ path: '__proto__', key: 'constructor' }, signal)).toBe('not a trick');
    expect(await vault.remove(stored, signal)).toBe(true);
    expect(await vault.remove(stored, signal)).toBe(false);
    expect(await vault.read(stored, signal)).toBeUndefined();
    expect(await vault.read({ path: 'database', key: 'user' }, signal)).toBe('belay');
  });

  it('opens with an earlier secret, and is sealed with the new one when it is written', async () => {
    const file = createFile();
    const [before, after] = [keyOf('before'), keyOf('after')];
    const open = (...keys: LocalKey[]) =>
      openLocalVault({}, { file, path: 'vault', keys: async () => keys }, createTools());
    await open(before).set(stored, stored.value, signal);
    const rotated = open(after, before);
    expect(await rotated.read(stored, signal)).toBe(stored.value);
    await rotated.set({ path: 'a', key: 'b' }, 'c', signal);
    expect(await open(after).read(stored, signal)).toBe(stored.value);
  });

  it('rejects a file that is damaged, foreign or sealed with another secret, with its path, and never replaces it', async () => {
    const file = createFile();
    const key = keyOf('now');
    const open = (one: LocalKey) =>
      openLocalVault({}, { file, path: 'here/vault', keys: async () => [one] }, createTools());
    await open(key).set(stored, stored.value, signal);
    const whole = file.text ?? '';
    const lines = whole.split('\n');
    const sealed = lines[2] ?? '';
    const cases: [string, LocalKey, string][] = [
      ['{"not": "ours"}\n', key, 'is not a vault file of Belay'],
      ['', key, 'is not a vault file of Belay'],
      [whole.slice(0, -20), key, 'is damaged'],
      [whole.replace('\nnow\n', '\nthen\n'), key, 'is damaged'],
      [
        [lines[0], lines[1], `${sealed.startsWith('A') ? 'B' : 'A'}${sealed.slice(1)}`, ''].join('\n'),
        key,
        'is damaged',
      ],
      [whole, keyOf('now'), 'sealed with another BELAY_SECRET'],
      [whole, keyOf('another'), 'sealed with another BELAY_SECRET'],
    ];
    for (const [content, held, message] of cases) {
      file.text = content;
      for (const ask of [
        () => open(held).read(stored, signal),
        () => open(held).check(signal),
        () => open(held).set(stored, 'x', signal),
        () => open(held).remove(stored, signal),
      ]) {
        const fault = await faultOf(ask());
        expect(fault.message).toMatch(/^here\/vault /);
        expect(fault.message).toContain(message);
        expect(everythingIn(fault)).not.toContain(stored.value);
      }
      expect(file.text).toBe(content);
    }
  });
});

const awsSubject = async () => {
  const server = await startAwsServer({ secrets: { database: text, plain: 'a plain text' } });
  return remote(server, [awsCredentials.secret_access_key], {
    provider: 'aws',
    ...awsCredentials,
    endpoint: server.url,
  });
};
describe('aws', () => {
  vaultSuite(awsSubject);
  remoteVaultSuite(awsSubject);

  it('returns a text that is not an object as the key `value`, and no other key of it', async () => {
    await using subject = await awsSubject();
    const vault = await subject.open(createTools());
    expect(await vault.read({ path: 'plain', key: 'value' }, signal)).toBe('a plain text');
    expect(await vault.read({ path: 'plain', key: 'length' }, signal)).toBeUndefined();
    expect(await vault.read({ path: 'database', key: 'value' }, signal)).toBeUndefined();
  });
});

const googleSubject = async () => {
  const server = await startGoogleServer({ secrets: { database: text } });
  const credentials = googleCredentials(server);
  return remote(server, googleSecrets, { provider: 'google', project: 'belay', endpoint: server.url, credentials });
};
describe('google', () => {
  vaultSuite(googleSubject);
  remoteVaultSuite(googleSubject);
});

const azureSubject = async () => {
  const server = await startAzureServer({ secrets: { database: text } });
  const { vaultUrl, authority, certificateAuthority } = server;
  const config = { provider: 'azure', vault_url: vaultUrl, authority, ...azureClient };
  return remote(server, azureSecrets, config, { certificateAuthority });
};
describe('azure', () => {
  vaultSuite(azureSubject);
  remoteVaultSuite(azureSubject);
});

const hashicorpSubject = (login: object) => async () => {
  const server = await startHashicorpServer({ secrets: { database: { [stored.key]: stored.value }, gone: null } });
  const config = { ...hashicorpSettings, ...login, provider: 'hashicorp', address: server.url };
  return remote(server, [rootToken, hashicorpRole.secret_id], config);
};
describe('hashicorp', () => {
  vaultSuite(hashicorpSubject({ token: rootToken }));
  vaultSuite(hashicorpSubject(hashicorpRole));
  remoteVaultSuite(hashicorpSubject(hashicorpRole));

  it('returns nothing where the version was deleted, and reads nothing outside its mount', async () => {
    await using subject = await hashicorpSubject({ token: rootToken })();
    const vault = await subject.open(createTools());
    expect(await vault.read({ path: 'gone', key: 'password' }, signal)).toBeUndefined();
    subject.server.asked.length = 0;
    for (const path of ['../auth/token', 'a/../../b', '/a', 'a//b', '.', '']) {
      expect((await faultOf(vault.read({ path, key: 'x' }, signal))).name).toBe('Terminal');
    }
    expect(subject.server.asked).toEqual([]);
  });

  it('signs in once for several reads, at the start and when their token was revoked early', async () => {
    const server = await startHashicorpServer({ secrets: { database: { [stored.key]: stored.value } } });
    const config = { ...hashicorpSettings, ...hashicorpRole, provider: 'hashicorp', address: server.url };
    await using subject = remote(server, [], config);
    const vault = await subject.open(createTools());
    const readAll = () => Promise.all(Array.from({ length: 8 }, () => vault.read(stored, signal)));
    const values = Array.from({ length: 8 }, () => stored.value);
    expect(await readAll()).toEqual(values);
    expect(server.logins).toBe(1);
    server.tokens.clear();
    expect(await readAll()).toEqual(values);
    expect(server.logins).toBe(2);
  });

  it('finishes a shared sign-in when the read that began it is aborted', async () => {
    const server = await startHashicorpServer({ secrets: { database: { [stored.key]: stored.value } } });
    const config = { ...hashicorpSettings, ...hashicorpRole, provider: 'hashicorp', address: server.url };
    await using subject = remote(server, [], config);
    const tools = createTools();
    const vault = await subject.open(tools);
    const stop = new AbortController();
    const first = faultOf(vault.read(stored, stop.signal));
    const second = vault.read(stored, signal);
    stop.abort();
    expect(await first).toBeInstanceOf(Retryable);
    expect(await second).toBe(stored.value);
    expect([server.logins, tools.waited]).toEqual([1, []]);
  });

  it('reports an address or a sign-in that does not exist, and not a missing secret', async () => {
    await using server = await startFakeServer({
      forbidden: { status: 403, body: {} },
      answer: () => ({ status: 404, body: { errors: [] } }),
    });
    for (const [login, message] of [
      [{ token: rootToken }, 'HashiCorp Vault has no API at this address, or does not have this namespace'],
      [hashicorpRole, 'approle_mount: HashiCorp Vault has no AppRole sign-in at this path'],
    ] as const) {
      const config = { ...hashicorpSettings, ...login, provider: 'hashicorp', address: server.url };
      const vault = await openVaultService(config, { ...createTools(), local: noFile });
      const fault = await faultOf(vault.check(signal));
      expect(fault).toBeInstanceOf(Terminal);
      expect(fault.message).toBe(message);
    }
  });
});
