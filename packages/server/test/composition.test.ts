import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readSecrets, validateConfiguration } from '@belay/operations';
import { createClosing, createLogger, newId, rootPath } from '@belay/program';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'belay-composition-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function logTo(readable: boolean): { lines: string[]; log: ReturnType<typeof createLogger> } {
  const lines: string[] = [];
  return { lines, log: createLogger({ level: 'info', readable, write: (line) => lines.push(line) }) };
}

describe('the log', () => {
  it.each([false, true])('cuts out secrets, also those in a driver’s message (readable: %s)', (readable) => {
    const { lines, log } = logTo(readable);
    log.info({ token: 'hunter2', request: { authorization: 'Bearer hunter2' } }, 'asked');
    log.error({ error: new Error('cannot reach postgres://belay:hunter2@db/belay') }, 'failed');
    log.debug({}, 'not at this level');
    expect(lines).toHaveLength(2);
    expect(lines.join('')).not.toContain('hunter2');
    expect(lines[1]).toContain('postgres://belay:[secret]@db/belay');
    for (const line of lines) expect(line.trimEnd()).not.toContain('\n');
  });
});

describe('an id', () => {
  it('is a UUID of version 7, unlike all others, and later ones sort after earlier ones', () => {
    const ids = Array.from({ length: 10_000 }, newId);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(new Set(ids).size).toBe(ids.length);
    expect([...ids].sort()).toEqual(ids);
  });
});

describe('the secret', () => {
  const make = async (given?: string, embedded = true, previous: string[] = []) =>
    (await readSecrets({ given, previous, embedded, dataDirectory: folder, randomBytes })).join(' ');

  it('is made once, readable by the owner of the folder only', async () => {
    const secrets = await Promise.all([make(), make(), make()]);
    expect(new Set(secrets).size).toBe(1);
    expect(await make()).toBe(secrets[0]);
    expect((await readFile(join(folder, 'secret'), 'utf8')).trim()).toBe(secrets[0]);
    expect((await stat(join(folder, 'secret'))).mode & 0o777).toBe(0o600);
  });

  it('that is given wins, has to be given for a database of one’s own, and a damaged one is rejected', async () => {
    expect(await make('given')).toBe('given');
    await expect(make(undefined, false)).rejects.toThrow('BELAY_SECRET is not set');
    await writeFile(join(folder, 'secret'), 'x'.repeat(40));
    await expect(make(undefined, false)).rejects.toThrow('BELAY_SECRET is not set');
    await writeFile(join(folder, 'secret'), 'cut off');
    await expect(make()).rejects.toThrow('holds fewer than 32 characters');
  });
});

describe('secrets of before', () => {
  it('come after the one in use, each once, and are never taken for it', async () => {
    const read = (given: string | undefined, previous: string[]) =>
      readSecrets({ given, previous, embedded: false, dataDirectory: folder, randomBytes });
    expect(await read('now', ['before', 'now', 'long before'])).toEqual(['now', 'before', 'long before']);
    await expect(read(undefined, ['before'])).rejects.toThrow('BELAY_SECRET is not set');
  });
});

describe('stopping', () => {
  it('stops everything in the opposite order, once, also when one of them fails', async () => {
    const { lines, log } = logTo(false);
    const closing = createClosing(log);
    const stopped: string[] = [];
    closing.add('the first', async () => stopped.push('first'));
    closing.add('the second', async () => {
      throw new Error('stuck');
    });
    closing.add('the third', async () => stopped.push('third'));
    await Promise.all([closing.close(), closing.close()]);
    expect(stopped).toEqual(['third', 'first']);
    expect(lines.join('')).toContain('the second could not be stopped cleanly');
  });
});

describe('belay validate', () => {
  const variables = {
    DEMO_OIDC_ISSUER: 'http://127.0.0.1:1',
    DEMO_OIDC_CLIENT_ID: 'id',
    DEMO_OIDC_CLIENT_SECRET: 'secret',
    DEMO_POSTGRES_URL: 'postgres://a:b@127.0.0.1/c',
  };
  const quickstart = rootPath('examples/quickstart/belay.yaml');

  it('accepts the quickstart', async () => {
    expect(await validateConfiguration(quickstart, variables)).toMatchObject({
      ok: true,
      providers: 2,
      roles: 1,
      workflows: 1,
      warnings: [],
    });
  });

  it('names every reference that has no value, with file and key', async () => {
    const result = await validateConfiguration(quickstart, {});
    if (result.ok) throw new Error('accepted');
    expect(result.messages).toContainEqual(
      expect.stringMatching(
        /quickstart\/belay\.yaml:\d+:7: providers\.demo-postgres\.config\.url: \$\{env:DEMO_POSTGRES_URL\} has no value$/,
      ),
    );
    expect(result.messages).toHaveLength(4);
  });

  it.each([
    [
      'a provider of no type',
      'providers: { a: { provider: nothing } }',
      'providers.a.provider: "nothing" is not a provider type',
    ],
    [
      'a role without a workflow',
      'roles: { a: { providers: [b], workflows: [c] } }',
      'roles.a.workflows[0]: there is no workflow "c"',
    ],
    [
      'a role at no provider',
      'roles: { a: { providers: [b], workflows: [c] } }',
      'roles.a.providers[0]: there is no provider "b"',
    ],
    [
      'an unknown key in a role',
      'roles: { a: { providers: [b], workflows: [c], grants: all } }',
      'roles.a.grants: is not a known key',
    ],
    [
      'the test double',
      'providers: { a: { provider: memory } }',
      'providers.a.provider: "memory" is not a provider type',
    ],
  ])('names file, key and reason of %s', async (_what, text, message) => {
    await mkdir(join(folder, 'config'));
    const file = join(folder, 'config', 'roles.yaml');
    await writeFile(file, text);
    const result = await validateConfiguration(join(folder, 'config'), variables);
    if (result.ok) throw new Error('accepted');
    expect(result.messages.some((line) => line.startsWith(`${file}:1:`) && line.includes(` ${message}`))).toBe(true);
  });

  it.each([
    [
      'a service that there is not',
      'services: { vaults: {} }',
      'services.vaults: is not a known key; expected: encryption, llm, vault, scheduler, storage; did you mean "vault"?',
    ],
    ['a vault of no vendor', 'services: { vault: { provider: cellar } }', 'services.vault.provider: '],
    ['an unknown key', 'services: { vault: { provider: local, file: x } }', 'services.vault.file: is not a known key'],
    [
      'half an AppRole',
      'services: { vault: { provider: hashicorp, address: "https://v.example", role_id: x } }',
      'services.vault.token: set either token, or role_id and secret_id',
    ],
    [
      'a secret sent in clear',
      'services: { vault: { provider: hashicorp, address: "http://v.example", token: x } }',
      'services.vault.address: must be https',
    ],
    [
      'a vault opened by itself',
      'services: { vault: { provider: hashicorp, address: "https://v.example", token: "${vault:a#b}" } }',
      'services.vault: must not come from the vault, because it opens the vault',
    ],
    [
      'a key that is no name of one',
      'services: { encryption: { provider: google, key: mine } }',
      'services.encryption.key: must be projects/',
    ],
    [
      'a model in clear',
      'services: { llm: { provider: openai-compatible, base_url: "http://m.example", model: m } }',
      'services.llm.base_url: must be https',
    ],
    [
      'settings that belong to the environment',
      'services: { storage: { url: x } }',
      'services.storage: must have no settings here: DATABASE_URL',
    ],
    [
      'a reference without a vault',
      'services: { llm: { provider: anthropic, model: m, api_key: "${vault:llm#key}" } }',
      'services.llm.api_key: ${vault:llm#key} has no value: no vault is configured',
    ],
    [
      'a reference to what the vault has not',
      'services: { vault: { provider: local }, llm: { provider: anthropic, model: m, api_key: "${vault:llm#key}" } }',
      'services.llm.api_key: ${vault:llm#key} is not in the vault',
    ],
    [
      'a reference without a key',
      'services: { vault: { provider: local }, llm: { provider: anthropic, model: m, api_key: "${vault:llm}" } }',
      'services.llm.api_key: ${vault:llm} must be ${vault:path#key}',
    ],
  ])('rejects in services: %s', async (_what, text, message) => {
    const file = join(folder, 'belay.yaml');
    await writeFile(file, text);
    const result = await validateConfiguration(file, { BELAY_DATA: folder });
    if (result.ok) throw new Error('accepted');
    expect(result.messages).toEqual([expect.stringContaining(`: ${message}`)]);
  });

  it('warns of a provider to sign in with whose groups do not pass, where there are several', async () => {
    const file = join(folder, 'belay.yaml');
    const login = 'provider: oidc, config: { issuer: "https://id.example", client_id: x }';
    await writeFile(file, `providers:\n  login: { groups: all, ${login} }\n  other: { ${login} }`);
    const result = await validateConfiguration(file, { BELAY_DATA: folder });
    if (!result.ok) throw new Error(result.messages.join('\n'));
    expect(result.warnings).toEqual([
      expect.stringContaining(
        `${file}:3:3: providers.other: has no groups setting, and there are several sign-in providers`,
      ),
    ]);
  });

  it('warns of secrets in plain text without repeating them, and of none that are references', async () => {
    const file = join(folder, 'belay.yaml');
    const login = (secret: string) => `{ issuer: "https://id.example", client_id: x, client_secret: "${secret}" }`;
    await writeFile(
      file,
      `providers:
  login: { provider: oidc, groups: all, config: ${login('hunter2hunter2')} }
  other: { provider: oidc, groups: all, config: ${login('${env:OTHER}')} }
  db: { provider: postgres, config: { url: "postgres://belay:hunter2@db.example/x", identity: email } }
services:
  llm: { provider: anthropic, model: m, api_key: hunter2 }`,
    );
    const result = await validateConfiguration(file, { BELAY_DATA: folder, OTHER: 'a value' });
    if (!result.ok) throw new Error(result.messages.join('\n'));
    expect(result.warnings.map((line) => line.split(': ')[1]).sort()).toEqual([
      'providers.db.config.url',
      'providers.login.config.client_secret',
      'services.llm.api_key',
    ]);
    expect(result.warnings.join('')).not.toContain('hunter2');
  });
});
