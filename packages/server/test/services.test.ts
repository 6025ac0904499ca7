import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startDemoIdentityProvider } from '@belay/demo';
import { listVault, parseEnvironment, removeFromVault, rotateEncryption, setInVault } from '@belay/operations';
import { StartError } from '@belay/program';
import { createTestDatabase, type TestDatabase } from '@belay/testkit/database';
import { findTestPort } from '@belay/testkit/ports';
import { keepLines, type LogLine } from '@belay/testkit/serve';
import { openVisitor } from '@belay/testkit/visitor';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type HashicorpServer,
  hashicorpRole,
  hashicorpSettings,
  startHashicorpServer,
} from '../../providers/test/support/hashicorp-server.js';
import type { RunningServer } from '../src/modes/server.js';
import { startServer } from '../src/start.js';
import { callRest } from './http/support/caller.js';

const oldSecret = 'the secret of before is long enough too';
const newSecret = 'the secret of today is long enough as well';

let folder: string;
let database: TestDatabase;
let port: number;
let url: string;
let server: RunningServer | undefined;
let lines: LogLine[];
const closing: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'belay-services-'));
  database = await createTestDatabase();
  port = await findTestPort();
  url = `http://127.0.0.1:${port}`;
});
afterEach(async () => {
  await stop();
  for (const close of closing.splice(0)) await close();
  await database[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const variables = (more: Record<string, string>) => ({
  BELAY_DATA: join(folder, 'data'),
  DATABASE_URL: database.url,
  PORT: String(port),
  BELAY_SECRET: oldSecret,
  ...more,
});
const environmentOf = (more: Record<string, string> = {}) => parseEnvironment(variables(more));
const configure = (text: string) => writeFile(join(folder, 'belay.yaml'), text);

async function start(more: Record<string, string> = {}): Promise<RunningServer> {
  const kept = keepLines();
  lines = kept.lines;
  const all = variables({ BELAY_CONFIG: join(folder, 'belay.yaml'), ...more });
  const environment = parseEnvironment(Object.fromEntries(Object.entries(all).filter(([, value]) => value !== '')));
  server = await startServer({ environment, variables: all, directory: folder, log: kept.log });
  return server;
}
async function stop(): Promise<void> {
  await server?.stop();
  server = undefined;
}
const refusal = async (more: Record<string, string> = {}): Promise<string> => {
  const error = await start(more).then(
    () => new Error('it started'),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(StartError);
  const { message } = error as StartError;
  expect(message).not.toContain('\n');
  return message;
};
const health = async () => {
  const response = await fetch(`${url}/health`);
  const { status, services } = (await response.json()) as { status: string; services: Record<string, string> };
  return { code: response.status, status, ...services };
};
const capabilities = async () =>
  ((await (await fetch(`${url}/.well-known/api-configuration`)).json()) as { capabilities: object }).capabilities;

/** Starts a real identity provider whose client has this secret. */
async function startIdentityProvider(clientSecret: string) {
  const provider = await startDemoIdentityProvider({
    port: 0,
    host: '127.0.0.1',
    people: [{ subject: 'u-rita', email: 'rita@example.test', name: 'Rita', groups: [] }],
    clients: [{ client_id: 'belay', client_secret: clientSecret, redirect_uris: [`${url}/api/v1/auth/callback/corp`] }],
    cookieKeys: [randomBytes(24).toString('hex')],
    log: () => {},
  });
  closing.push(provider.close);
  return provider;
}

const withVault = (issuer: string, more = '') => `
services: { vault: { provider: local } }
providers:
  corp:
    provider: oidc
    config: { issuer: "${issuer}", client_id: belay, client_secret: "\${vault:identity#client_secret}", allow_insecure_issuer: true }
${more}`;

/** Returns a configuration with a role whose provider exists, so that a request gets as far as the check of its session. */
const withRole = (issuer: string) =>
  withVault(
    issuer,
    `  db: { provider: postgres, config: { url: "\${env:DATABASE_URL}", identity: email } }
roles:
  reader: { providers: [db], inherits: ["db:reporting"], workflows: [automatic], authenticators: [corp] }
workflows:
  automatic:
    workflow: { document: { dsl: 1.0.3, namespace: test, name: automatic, version: 1.0.0 }, do: [{ grant: { call: access.grant } }] }
`,
  );

async function signInProgram() {
  const verifier = randomBytes(32).toString('base64url');
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  const browser = openVisitor(url);
  const query = new URLSearchParams({ callback: 'http://127.0.0.1:5999/done', code_challenge: challenge });
  const begun = await browser.visit(`/auth/request/corp?${query.toString()}`, { site: 'none' });
  const back = await browser.visit(await browser.prove(begun.location, 'u-rita'), { site: 'cross-site' });
  const code = (await browser.letProgram(back.location)).searchParams.get('code') ?? '';
  const exchanged = await callRest(url, 'POST', '/auth/token', { body: { code, code_verifier: verifier } });
  expect(exchanged.status).toBe(200);
  return exchanged.json as { token: string; session: { session: string } };
}

describe('the local vault', () => {
  it('holds what the configuration refers to: people sign in with a secret that is in no file and no variable', async () => {
    const secret = randomBytes(24).toString('hex');
    const idp = await startIdentityProvider(secret);
    const options = { environment: environmentOf(), directory: folder };
    await setInVault(options, 'identity#client_secret', secret);
    await configure(withVault(idp.issuer));
    await start();
    expect((await signInProgram()).token).not.toBe('');
    expect(await health()).toMatchObject({ code: 200, vault: 'healthy', encryption: 'healthy', llm: 'not configured' });
    expect(await capabilities()).toEqual({ workflow_engine: true, vault: true });
    const file = join(folder, 'data', 'vault');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const written = [await readFile(file, 'utf8'), JSON.stringify(await database.sql`select * from catalogs`)];
    expect(written.join()).not.toContain(secret);
    expect(JSON.stringify(lines)).not.toContain(secret);
  });

  it('is read again with the configuration: a secret that was changed is used from then on', async () => {
    const secret = randomBytes(24).toString('hex');
    const idp = await startIdentityProvider(secret);
    const options = { environment: environmentOf(), directory: folder };
    await setInVault(options, 'identity#client_secret', 'one that the provider does not know');
    await configure(withVault(idp.issuer));
    const running = await start();
    await expect(signInProgram()).rejects.toThrow();
    await setInVault(options, 'identity#client_secret', secret);
    await running.reload();
    expect((await signInProgram()).token).not.toBe('');
    // Without the secret the configuration is rejected with the name of the secret, and the previous one stays active.
    expect(await removeFromVault(options, 'identity#client_secret')).toBe(true);
    await running.reload();
    expect(JSON.stringify(lines)).toContain('${vault:identity#client_secret} is not in the vault');
    expect((await signInProgram()).token).not.toBe('');
  });

  it('rejects a start with a secret that is not there, with a file that is damaged or sealed with another secret', async () => {
    await configure(withVault('http://127.0.0.1:1'));
    const options = { environment: environmentOf(), directory: folder };
    expect(await refusal()).toMatch(
      /belay\.yaml:\d+:\d+: providers\.corp\.config\.client_secret: \$\{vault:identity#client_secret\} is not in the vault/,
    );
    await setInVault(options, 'identity#client_secret', 'hunter2');
    const another = await refusal({ BELAY_SECRET: newSecret });
    expect(another).toContain('cannot be read: ');
    expect(another).toContain('sealed with another BELAY_SECRET');
    expect(another).not.toContain('hunter2');
    await writeFile(join(folder, 'data', 'vault'), 'rubbish');
    expect(await refusal()).toContain('is not a vault file of Belay');
    await expect(setInVault(options, 'a#b', 'c')).rejects.toThrow('is not a vault file of Belay');
    expect(await readFile(join(folder, 'data', 'vault'), 'utf8')).toBe('rubbish');
  });

  it('takes values by name, lists names, and no others', async () => {
    const options = { environment: environmentOf(), directory: folder };
    expect(await listVault(options)).toEqual([]);
    expect(existsSync(join(folder, 'data', 'vault'))).toBe(false);
    await setInVault(options, 'team/database#password', 'hunter2');
    expect(await listVault(options)).toEqual([{ path: 'team/database', key: 'password' }]);
    for (const wrong of ['database', '#', 'a#', '#b', 'a#b#c', 'a b#c', 'a#{b}', '']) {
      await expect(setInVault(options, wrong, 'x')).rejects.toThrow('The name of a secret is path#key');
    }
    await expect(setInVault(options, 'a#b', '')).rejects.toThrow('The value is empty');
    await configure('services: { vault: { provider: aws, region: eu-central-1 } }');
    await expect(listVault(options)).rejects.toThrow('services.vault is aws');
  });
});

it('of many commands that write the local vault at once, none undoes another', async () => {
  const options = { environment: environmentOf(), directory: folder };
  const names = Array.from({ length: 12 }, (_, index) => `database#key-${index + 10}`);
  await Promise.all(names.map((name) => setInVault(options, name, `value of ${name}`)));
  expect((await listVault(options)).map(({ path, key }) => `${path}#${key}`)).toEqual(names);
  await Promise.all(names.slice(1).map((name) => removeFromVault(options, name)));
  expect(await listVault(options)).toEqual([{ path: 'database', key: 'key-10' }]);
  expect((await readdir(join(folder, 'data'))).sort()).toEqual(['vault']);
});

describe('the local keyring', () => {
  it('is rotated by BELAY_SECRET_PREVIOUS: what was sealed before opens until the old secret is dropped', async () => {
    const secret = randomBytes(24).toString('hex');
    const idp = await startIdentityProvider(secret);
    await setInVault({ environment: environmentOf(), directory: folder }, 'identity#client_secret', secret);
    await configure(withRole(idp.issuer));
    await start();
    const { token, session } = await signInProgram();
    const ask = async () => {
      const body = { role: 'reader', reason: 'ticket 1', session };
      const { status, json } = await callRest(url, 'POST', '/elevate', { token, body });
      const issues = (json.issues ?? []) as { path: string }[];
      return { status, blamed: issues.map(({ path }) => path) };
    };
    const before = await ask();
    expect(before.blamed).not.toContain('session');
    expect(before.status).not.toBe(401);
    await stop();

    await start({ BELAY_SECRET: newSecret, BELAY_SECRET_PREVIOUS: oldSecret });
    expect(await ask()).toEqual(before);
    // The vault is rewritten with the new secret before the old one is removed.
    const rotated = { BELAY_SECRET: newSecret, BELAY_SECRET_PREVIOUS: oldSecret };
    await setInVault({ environment: environmentOf(rotated), directory: folder }, 'identity#client_secret', secret);
    await stop();

    await start({ BELAY_SECRET: newSecret });
    expect(await ask()).toEqual({ status: 400, blamed: ['session'] });
    expect((await signInProgram()).session.session).not.toBe(session.session);
  });

  it('has no key of its own to rotate', async () => {
    await configure('version: 1');
    await start();
    const options = { environment: environmentOf(), name: 'root', log: keepLines().log, variables: {} };
    await expect(rotateEncryption(options)).rejects.toMatchObject({
      code: 'not_configured',
      message: expect.stringContaining('BELAY_SECRET_PREVIOUS'),
    });
  });
});

describe('a key management service', () => {
  let kms: HashicorpServer;
  const secretId = { KMS_SECRET_ID: hashicorpRole.secret_id };
  beforeEach(async () => {
    kms = await startHashicorpServer({ keys: ['belay'] });
    closing.push(async () => kms[Symbol.asyncDispose]());
    await configure(`
services:
  encryption:
    provider: hashicorp
    address: ${kms.url}
    namespace: ${hashicorpSettings.namespace}
    role_id: ${hashicorpRole.role_id}
    secret_id: "\${env:KMS_SECRET_ID}"
    key: belay
`);
  });

  it('guards the keys: no BELAY_SECRET is needed, rotation is one command, an outage degrades and does not stop', async () => {
    await start({ ...secretId, BELAY_SECRET: '' });
    expect(await health()).toMatchObject({ status: 'healthy', encryption: 'healthy', vault: 'not configured' });
    expect(await capabilities()).toMatchObject({ vault: false });
    const environment = parseEnvironment({ DATABASE_URL: database.url, BELAY_DATA: join(folder, 'data') });
    const options = { environment, name: 'root', log: keepLines().log, variables: secretId };
    const rotated = await rotateEncryption(options);
    expect(rotated.retired).not.toBe(rotated.kid);
    expect(await database.sql`select 1 from encryption_keys`).toHaveLength(2);
    await stop();
    kms.mood = 'unavailable';
    const line = await refusal({ ...secretId, BELAY_SECRET: '' });
    expect(line).toMatch(
      /^services\.encryption: the keys cannot be unwrapped \(HashiCorp Vault is temporarily unavailable/,
    );
    expect(line).not.toContain(hashicorpRole.secret_id);
    kms.mood = 'well';
    await start({ ...secretId, BELAY_SECRET: '' });
    kms.mood = 'forbidden';
    await vi.waitFor(async () => expect(await health()).toMatchObject({ code: 200, status: 'degraded' }), {
      timeout: 30_000,
    });
    expect((await fetch(`${url}/ready`)).status).toBe(200);
    await configure('services: { encryption: { provider: local } }');
    await server?.reload();
    // The watch may have started the reload before, and may not have finished.
    await vi.waitFor(
      () =>
        expect(lines.map(({ message }) => message)).toContainEqual(
          expect.stringContaining('services.encryption changed, but this process keeps its keys'),
        ),
      20_000,
    );
  });
});
