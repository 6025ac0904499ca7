import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@belay/core';
import type { Database } from '@belay/db';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { chooseConfiguration, findConfiguration } from '../src/config/choose-configuration.js';
import { ConfigurationError, describeFault, explainIssues } from '../src/config/configuration-error.js';
import { parseText } from '../src/config/parse-text.js';
import { type Configuration, readConfiguration } from '../src/config/read-configuration.js';
import { createReferences } from '../src/config/resolve-reference.js';
import { type ConfigurationWatch, watchConfiguration } from '../src/config/watch-configuration.js';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'belay-config-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function write(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  return path;
}

async function refusal(path: string): Promise<readonly string[]> {
  const error = await readConfiguration(path).catch((thrown: unknown) => thrown);
  if (!(error instanceof ConfigurationError)) throw new Error(`not rejected: ${JSON.stringify(error)}`);
  return error.messages;
}

describe('reading a configuration', () => {
  it('merges every YAML and JSON file of a folder, and leaves references as they are', async () => {
    await write('providers/db.yaml', 'providers: { db: { provider: postgres, config: { url: "${env:DB}" } } }');
    await write('roles.yml', 'version: 1\nroles: { reader: { providers: [db], workflows: [w] } }');
    await write('more.json', '{"version": 1, "roles": {"writer": {"providers": ["db"]}}, "server": {"callbacks": []}}');
    await write('.hidden.yaml', 'roles: { hidden: {} }');
    await write('notes.txt', 'not: [configuration');
    const { document, files } = await readConfiguration(folder);
    expect(document).toEqual({
      version: 1,
      server: { callbacks: [] },
      providers: { db: { provider: 'postgres', config: { url: '${env:DB}' } } },
      roles: { reader: { providers: ['db'], workflows: ['w'] }, writer: { providers: ['db'] } },
    });
    expect(files).toHaveLength(3);
  });

  it('reads a long text in a thread, as it reads a short one', async () => {
    const many = Array.from({ length: 600 }, (_, index) => `  role-${index}: { providers: [db], workflows: [w] }`);
    const text = `version: .nan\nempty: {}\nbase: &b [1]\nagain: *b\nroles:\n  __proto__: { a: 1 }\n${many.join('\n')}\n`;
    const { document } = await readConfiguration(await write('long.yaml', text));
    const short = parseText(text) as { content: { roles: object } };
    expect(document).toEqual(short.content);
    expect(Object.keys(document.roles as object)).toEqual(Object.keys(short.content.roles));
    expect(Object.getPrototypeOf(document.roles)).toBe(Object.prototype);
    const faulty = await write('faulty.yaml', `${text}  role-7: {}\n  other: [\n`);
    const place = expect.stringMatching(/^.*faulty\.yaml:607:3: the key is defined twice/);
    expect(await refusal(faulty)).toContainEqual(place);
    expect(await refusal(await write('list.yaml', `- ${'a'.repeat(30_000)}`))).toEqual([
      expect.stringContaining('a configuration is a mapping'),
    ]);
  });

  it('names the file and the key that an issue speaks of, also when names contain dots', async () => {
    const roles = await write('roles.yaml', 'roles: { admin: {}, admin.eu: {} }');
    const more = await write('zmore.yaml', 'roles: { admin.us: {} }\nserver: { http_hosts: [] }');
    const configuration = await readConfiguration(folder);
    const { locate } = configuration;
    expect(locate('roles.admin.providers[0]').file).toBe(roles);
    expect(locate('roles.admin.us.providers[0]')).toEqual({ file: more });
    expect(locate('server.http_hosts[1]').file).toBe(more);
    expect(locate('providers').file).toBe(folder);
    const issues = [{ path: 'roles.admin.providers[0]', message: 'no such provider' }];
    // The key is not written, so the place is that of its role.
    expect((await explainIssues(issues, configuration)).map(describeFault)).toEqual([
      `${roles}:1:10: roles.admin.providers[0]: no such provider`,
    ]);
  });

  it('rejects a name that two files define, naming both', async () => {
    const one = await write('a.yaml', 'roles: { admin: {} }\nserver: { max_duration: PT1H }');
    const two = await write('b.json', '{"roles": {"admin": {}}, "server": {"max_duration": "PT2H"}}');
    expect(await refusal(folder)).toEqual([
      `${two}:1:12: roles.admin: is already defined in ${one}; a name is defined once`,
      `${two}:1:37: server.max_duration: is already defined in ${one}; a name is defined once`,
    ]);
  });

  it('rejects a name that one file defines twice, with its line', async () => {
    const path = await write('belay.yaml', 'roles:\n  admin: {}\n  admin: {}\n');
    expect((await refusal(path))[0]).toMatch(/belay\.yaml:3:3: the key is defined twice/);
  });

  it('rejects two versions that differ', async () => {
    await write('a.yaml', 'version: 1');
    await write('b.yaml', 'version: 2');
    expect((await refusal(folder))[0]).toContain('b.yaml:1:1: version: is already defined');
  });

  it.each([
    ['broken YAML', 'roles:\n  admin: [a\nx: y\n', /belay\.yaml:3:\d+: /],
    ['an unknown tag', 'roles: !secret x\n', /belay\.yaml:1:\d+: .*tag/],
    [
      'two documents in one file',
      'a: 1\n---\nb: 2\n',
      /belay\.yaml:2:1: begins a second YAML document; a file has one/,
    ],
    ['an indent of a tab', 'roles:\n\ta: {}\n', /belay\.yaml:2:1: is indented with a tab/],
    ['an alias within its own anchor', 'a: &a\n  b: [*a]\n', /belay\.yaml:2:7: the alias "a" is within its own/],
    ['a tag that makes other values than JSON has', 'a: !!binary aGk=\n', /belay\.yaml:1:4: .*tag/],
    ['collections within each other', `a: ${'['.repeat(900)}${']'.repeat(900)}`, /belay\.yaml:1:\d+: is nested too/],
    ['brackets without end', '['.repeat(300_000), /belay\.yaml.* /],
    ['a list', '- a\n', /belay\.yaml:1:1: a configuration is a mapping/],
    ['an alias that stands for nothing', 'a: *b\n', /belay\.yaml:1:4: the alias "b" has no anchor/],
    [
      'aliases that grow without bound',
      `a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n`,
      /belay\.yaml: .*alias/i,
    ],
  ])('rejects %s, naming the file', async (_what, text, message) => {
    const path = await write('belay.yaml', text);
    const messages = await refusal(path);
    expect(messages[0]).toMatch(message);
    expect(messages.join('')).not.toContain('\n');
  });

  it('keeps a key named __proto__ a key, so that validation sees it', async () => {
    const path = await write('belay.yaml', 'roles:\n  __proto__: { enabled: true }\n__proto__: { roles: {} }\n');
    const { document } = await readConfiguration(path);
    expect(Object.keys(document)).toContain('__proto__');
    expect(Object.keys(document.roles as object)).toEqual(['__proto__']);
  });

  it('reads a text with a byte order mark, Windows line ends, document marks, anchors and merge keys', async () => {
    const text =
      '\uFEFF---\r\nroles:\r\n  a: &base { providers: [db] }\r\n  b:\r\n    <<: *base\r\n    workflows: [w]\r\n...\r\n';
    const configuration = await readConfiguration(await write('belay.yaml', text));
    const providers = ['db'];
    expect(configuration.document).toEqual({ roles: { a: { providers }, b: { providers, workflows: ['w'] } } });
    const issues = [{ path: 'roles.b.workflows[0]', message: 'x' }];
    expect(await explainIssues(issues, configuration)).toMatchObject([{ line: 6, column: 17 }]);
  });

  it('rejects a file that is too long, links out of the folder, linked folders and what is no file', async () => {
    const long = await write('long.yaml', `# ${'x'.repeat(10_000_000)}`);
    expect(await refusal(long)).toEqual([
      `${long}: is too long: 9.5 of 4 MiB; divide it among several files of a folder`,
    ]);
    await rm(long);
    const outside = await write('outside.yaml', 'roles: {}');
    const inner = await write('config/data/real.yaml', 'version: 1');
    const link = join(folder, 'config', 'link.yaml');
    await symlink(outside, link);
    expect(await refusal(join(folder, 'config'))).toEqual([
      `${link}: is a symbolic link to a file outside the folder; put the file itself here`,
    ]);
    await rm(link);
    await symlink('.', join(folder, 'config', 'again'));
    expect((await refusal(join(folder, 'config')))[0]).toContain('again: is a symbolic link to a folder');
    await rm(join(folder, 'config', 'again'));
    await mkdir(join(folder, 'config', '..hidden'));
    await rename(inner, join(folder, 'config', '..hidden', 'real.yaml'));
    // This is how the files of a mounted config map are linked.
    await symlink('..hidden/real.yaml', link);
    expect((await readConfiguration(join(folder, 'config'))).document).toEqual({ version: 1 });
  });

  it('rejects a path that is not there and a folder with nothing in it, saying what to do', async () => {
    expect(await refusal(join(folder, 'none.yaml'))).toEqual([
      `${join(folder, 'none.yaml')}: does not exist; create it, or point BELAY_CONFIG at a configuration file or folder`,
    ]);
    expect((await refusal(folder))[0]).toContain('contains no YAML or JSON file');
  });

  it('is looked for in belay.yaml, then config/, then nowhere', async () => {
    expect(findConfiguration(undefined, folder)).toBeUndefined();
    await mkdir(join(folder, 'config'));
    expect(findConfiguration(undefined, folder)).toBe('config');
    await write('belay.yaml', '');
    expect(findConfiguration(undefined, folder)).toBe('belay.yaml');
    expect(findConfiguration('etc/x.yaml', folder)).toBe('etc/x.yaml');
  });

  it('is that of the folder that a start is given, and not one of the same name where the process works', async () => {
    const choose = (asked: string | undefined, directory: string) =>
      // With a file the database is not read.
      chooseConfiguration({} as Database, { asked, directory, worker: 'inline' });
    await write('belay.yaml', '');
    const files = (path: string) => ({ kind: 'files', path });
    expect(await choose(undefined, folder)).toEqual(files(join(folder, 'belay.yaml')));
    expect(await choose('etc/x.yaml', folder)).toEqual(files(join(folder, 'etc/x.yaml')));
    expect(await choose('/etc/x.yaml', folder)).toEqual(files('/etc/x.yaml'));
    // In the working directory, a path is not resolved.
    expect(await choose('etc/x.yaml', process.cwd())).toEqual(files('etc/x.yaml'));
  });
});

describe('references', () => {
  const openVault = () => Promise.reject(new Error('There is no vault here'));

  it('resolve from the given variables only; unset, empty, inherited and foreign ones do not resolve', () => {
    const { resolve } = createReferences({ variables: { A: 'a', EMPTY: '' }, openVault });
    expect(resolve('env:A')).toBe('a');
    for (const reference of ['env:B', 'env:EMPTY', 'env:constructor', 'env:', 'vault:a#b', 'A']) {
      expect(resolve(reference)).toBeUndefined();
    }
  });

  it('takes what a variable names from the file of NAME_FILE, and nothing from a file that cannot be read', async () => {
    const path = await write('secret', 'from a file\n');
    const variables = { A_FILE: path, B: 'given', B_FILE: path, C_FILE: join(folder, 'gone'), D_FILE: folder };
    const { resolve } = createReferences({ variables, openVault });
    expect(['env:A', 'env:B', 'env:C', 'env:D', 'env:E'].map((each) => resolve(each))).toEqual([
      'from a file',
      'given',
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe('watching a configuration', () => {
  const quietLog: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  const applied: Configuration[] = [];
  const refused: string[] = [];
  let watching: ConfigurationWatch | undefined;

  async function start(path: string): Promise<ConfigurationWatch> {
    applied.length = 0;
    refused.length = 0;
    watching = await watchConfiguration(path, {
      apply: async (configuration) => void applied.push(configuration),
      refuse: (messages) => void refused.push(...messages),
      log: quietLog,
      delay: (milliseconds, signal) => delay(milliseconds, undefined, { signal }),
      quiet: 30,
      poll: 100,
    });
    return watching;
  }
  afterEach(async () => {
    await watching?.close();
    watching = undefined;
  });

  it('applies a file that an editor replaced by renaming, again and again', async () => {
    const path = await write('belay.yaml', 'version: 1');
    await start(path);
    for (const version of [2, 3]) {
      await rm(path);
      await rename(await write('belay.yaml.swp', `version: ${version}`), path);
      await vi.waitFor(() => expect(applied.at(-1)?.document).toEqual({ version }), { timeout: 30_000 });
    }
    expect(refused).toEqual([]);
  });

  it('applies a file that was added to a folder, and rejects a broken one with its line', async () => {
    await write('a.yaml', 'version: 1');
    await start(folder);
    const more = await write('more/b.yaml', 'roles: { a: {} }');
    await vi.waitFor(() => expect(applied.at(-1)?.document).toEqual({ version: 1, roles: { a: {} } }), {
      timeout: 30_000,
    });
    await writeFile(more, 'roles: [');
    await vi.waitFor(() => expect(refused[0]).toMatch(/b\.yaml:1:/), { timeout: 30_000 });
  });

  it('reads again on demand, whether or not anything changed', async () => {
    const { reload } = await start(await write('belay.yaml', 'version: 1'));
    await reload();
    expect(applied).toHaveLength(1);
  });
});
