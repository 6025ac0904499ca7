import { execFileSync } from 'node:child_process';
import { chownSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { query, refusal, start } from './support/start.js';
import { postmasterOf, type TemporaryFolder, temporaryFolder } from './support/temporary-folder.js';

function occupy(port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen({ port, host: '127.0.0.1' }, () => resolve(server));
  });
}

/** A cluster after its first start, and what was read while that server ran. */
let made: TemporaryFolder;
let first: Awaited<ReturnType<typeof lookAtFirstStart>>;
beforeAll(async () => {
  made = temporaryFolder();
  first = await lookAtFirstStart(join(made.path, 'data'));
});
afterAll(() => made?.[Symbol.asyncDispose]());

/** Returns a folder with a cluster in `<path>/data` that was started once: a copy, because creating one takes much longer. */
function folderWithCluster(): TemporaryFolder {
  const folder = temporaryFolder();
  // Owners are kept: root starts the server as another account.
  execFileSync('cp', ['-a', join(made.path, 'data'), folder.path]);
  return folder;
}

async function lookAtFirstStart(data: string) {
  const server = await start(data);
  const url = server.url('postgres');
  const rows = await query<{ name: string; setting: string }>(url, 'select name, setting from pg_settings');
  const [words] = await query<{ upper: string }>(url, `select upper('é') as upper`);
  await server.stop();
  return {
    adopted: server.adopted,
    url,
    settings: Object.fromEntries(rows.map((row) => [row.name, row.setting])),
    words,
  };
}

describe('the first start', () => {
  it('makes a UTF-8 cluster of PostgreSQL 18 that keeps every acknowledged row', () => {
    expect(first.adopted).toBe(false);
    expect(first.settings).toMatchObject({
      server_encoding: 'UTF8',
      server_version_num: expect.stringMatching(/^18/),
      fsync: 'on',
      synchronous_commit: 'on',
      full_page_writes: 'on',
      jit: 'off',
      max_connections: '100',
      data_checksums: 'on',
    });
    expect(first.words?.upper).toBe('É');
  });

  it('listens on loopback only, without sockets, and requires the password', async () => {
    await using folder = folderWithCluster();
    const server = await start(join(folder.path, 'data'));
    const rows = await query<{ name: string; setting: string }>(
      server.url('postgres'),
      `select name, setting from pg_settings where name in ('listen_addresses', 'unix_socket_directories')`,
    );
    expect(Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))).toEqual({
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
    });
    const methods = await query<{ method: string }>(
      server.url('postgres'),
      'select distinct auth_method as method from pg_hba_file_rules order by 1',
    );
    expect(methods.map(({ method }) => method)).toEqual(['reject', 'scram-sha-256']);
    const url = new URL(server.url('postgres'));
    url.password = 'not-the-password';
    await expect(query(url.href, 'select 1')).rejects.toMatchObject({ code: '28P01' });
    url.password = '';
    await expect(query(url.href, 'select 1')).rejects.toThrow();
  });

  it('keeps a random password in a file for its owner alone', () => {
    const file = join(made.path, 'data', 'postgres.password');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const password = readFileSync(file, 'utf8').trim();
    expect(password).toMatch(/^[\w-]{32}$/);
    expect(new URL(first.url).password).toBe(password);
  });

  it('leaves nothing but the cluster and its three files behind', () => {
    expect(readdirSync(join(made.path, 'data')).sort()).toEqual(['postgres', 'postgres.password', 'postgres.port']);
  });
});

describe('a later start', () => {
  it('finds its rows on the port it had before', async () => {
    await using folder = folderWithCluster();
    const first = await start(join(folder.path, 'data'));
    await query(first.url('postgres'), 'create table kept as select 42 as answer');
    await first.stop();
    const second = await start(join(folder.path, 'data'));
    expect(second.adopted).toBe(false);
    expect(second.url('x')).toBe(first.url('x'));
    expect(await query(second.url('postgres'), 'select answer from kept')).toEqual([{ answer: 42 }]);
  });

  it('takes over the live server of an earlier start', async () => {
    await using folder = folderWithCluster();
    const first = await start(join(folder.path, 'data'));
    const pid = postmasterOf(join(folder.path, 'data', 'postgres'));
    const second = await start(join(folder.path, 'data'));
    expect(second.adopted).toBe(true);
    expect(second.url('x')).toBe(first.url('x'));
    expect(postmasterOf(join(folder.path, 'data', 'postgres'))).toBe(pid);
  });

  it('chooses another port when its own is taken, and remembers that one', async () => {
    await using folder = folderWithCluster();
    const first = await start(join(folder.path, 'data'));
    const port = Number(new URL(first.url('x')).port);
    await first.stop();
    const squatter = await occupy(port);
    try {
      const second = await start(join(folder.path, 'data'));
      const other = Number(new URL(second.url('x')).port);
      expect(other).not.toBe(port);
      expect(await query(second.url('postgres'), 'select 1 as one')).toEqual([{ one: 1 }]);
      await second.stop();
      const third = await start(join(folder.path, 'data'));
      expect(third.url('x')).toBe(second.url('x'));
    } finally {
      squatter.close();
    }
  });

  it('rejects a configured port that is in use, and starts nothing', async () => {
    await using folder = folderWithCluster();
    const squatter = await occupy(0);
    const { port } = squatter.address() as AddressInfo;
    try {
      const error = await refusal(start(join(folder.path, 'data'), { port }));
      expect(error.code).toBe('port_taken');
      expect(error.message).toContain(String(port));
      expect(postmasterOf(join(folder.path, 'data', 'postgres'))).toBeUndefined();
    } finally {
      squatter.close();
    }
    const server = await start(join(folder.path, 'data'), { port });
    expect(new URL(server.url('x')).port).toBe(String(port));
  });

  it('applies settings, but none that would lose rows or open the server', async () => {
    await using folder = folderWithCluster();
    const data = join(folder.path, 'data');
    const server = await start(data, { settings: { max_connections: '20', 'our.note': "it's \\ quoted" } });
    expect(await query(server.url('postgres'), 'show max_connections')).toEqual([{ max_connections: '20' }]);
    expect(await query(server.url('postgres'), 'show our.note')).toEqual([{ 'our.note': "it's \\ quoted" }]);
    await server.stop();
    for (const name of [
      'fsync',
      'synchronous_commit',
      'listen_addresses',
      'unix_socket_directories',
      'hba_file',
      'port',
    ]) {
      const error = await refusal(start(data, { settings: { [name]: 'off' } }));
      expect(error).toMatchObject({ code: 'start_failed', message: expect.stringContaining(name) });
    }
    expect((await refusal(start(data, { settings: { jit: "on'\nfsync = 'off" } }))).code).toBe('start_failed');
    expect((await refusal(start(data, { settings: { 'jit = on #': 'x' } }))).code).toBe('start_failed');
  });

  it('says which setting is wrong, in one line', async () => {
    await using folder = folderWithCluster();
    const error = await refusal(start(join(folder.path, 'data'), { settings: { shared_buffers: 'plenty' } }));
    expect(error.code).toBe('start_failed');
    expect(error.message).toContain('server.log');
    expect((await start(join(folder.path, 'data'))).adopted).toBe(false);
  });

  it('that takes too long is rejected, and no server is left running', async () => {
    await using folder = folderWithCluster();
    const cluster = join(folder.path, 'data', 'postgres');
    const { uid, gid } = statSync(cluster);
    // A recovery that waits for a file of the write-ahead log.
    writeFileSync(join(cluster, 'recovery.signal'), '');
    chownSync(join(cluster, 'recovery.signal'), uid, gid);
    const settings = { restore_command: 'sleep 600' };
    const error = await refusal(start(join(folder.path, 'data'), { settings, startLimit: 2 }));
    expect(postmasterOf(cluster)).toBeUndefined();
    expect(error.message).toContain('did not accept connections within 2 seconds');
  });
});

describe('a folder that is not ours to start on', () => {
  it('of another major version is rejected, and left as it is', async () => {
    await using folder = folderWithCluster();
    const cluster = join(folder.path, 'data', 'postgres');
    await (await start(join(folder.path, 'data'))).stop();
    writeFileSync(join(cluster, 'PG_VERSION'), '17\n');
    const before = readdirSync(cluster).sort();
    const error = await refusal(start(join(folder.path, 'data')));
    expect(error.code).toBe('other_version');
    expect(error.message).toMatch(/PostgreSQL 17.*pg_dumpall.*move the folder away/);
    expect(readdirSync(cluster).sort()).toEqual(before);
  });

  it('that holds something else is rejected, and left as it is', async () => {
    await using folder = temporaryFolder();
    const cluster = join(folder.path, 'data', 'postgres');
    mkdirSync(cluster, { recursive: true });
    writeFileSync(join(cluster, 'holiday.jpg'), 'beach');
    expect((await refusal(start(join(folder.path, 'data')))).message).toMatch(
      /not a PostgreSQL database.*move it away/,
    );
    expect(readdirSync(cluster)).toEqual(['holiday.jpg']);
  });

  it('whose password file is gone is rejected, and its database kept', async () => {
    await using folder = folderWithCluster();
    await (await start(join(folder.path, 'data'))).stop();
    const password = join(folder.path, 'data', 'postgres.password');
    const kept = readFileSync(password);
    writeFileSync(password, '');
    expect((await refusal(start(join(folder.path, 'data')))).message).toContain(password);
    writeFileSync(password, kept);
    expect((await start(join(folder.path, 'data'))).adopted).toBe(false);
  });

  it('with a live server that has another password is not taken over', async () => {
    await using folder = folderWithCluster();
    const server = await start(join(folder.path, 'data'));
    writeFileSync(join(folder.path, 'data', 'postgres.password'), 'another-password\n');
    expect((await refusal(start(join(folder.path, 'data')))).message).toMatch(/rejects the password/);
    expect(await query(server.url('postgres'), 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  it('that is a file is rejected', async () => {
    await using folder = temporaryFolder();
    writeFileSync(join(folder.path, 'data'), '');
    expect((await refusal(start(join(folder.path, 'data')))).code).toBe('not_writable');
  });

  it('may be an empty one that was made beforehand', async () => {
    await using folder = temporaryFolder();
    mkdirSync(join(folder.path, 'data', 'postgres'), { recursive: true });
    expect((await start(join(folder.path, 'data'))).adopted).toBe(false);
  });
});

describe('a running server', () => {
  it('makes a database of any name once, however many ask at the same moment', async () => {
    await using folder = folderWithCluster();
    const server = await start(join(folder.path, 'data'));
    for (const name of ['own', 'Ünusual "name"/?#']) {
      await Promise.all([1, 2, 3, 4].map(() => server.ensureDatabase(name)));
      await server.ensureDatabase(name);
    }
    const names = await query(
      server.url('postgres'),
      'select datname from pg_database where not datistemplate order by oid',
    );
    expect(names).toEqual([{ datname: 'postgres' }, { datname: 'own' }, { datname: 'Ünusual "name"/?#' }]);
    expect(await query(server.url('own'), 'select current_database() as name')).toEqual([{ name: 'own' }]);
  });

  it('can be stopped twice, and ends connections that are open', async () => {
    await using folder = folderWithCluster();
    const server = await start(join(folder.path, 'data'));
    const sleeping = query(server.url('postgres'), 'select pg_sleep(60)');
    const ended = expect(sleeping).rejects.toThrow();
    await Promise.all([server.stop(), server.stop()]);
    await server.stop();
    await ended;
    expect(postmasterOf(join(folder.path, 'data', 'postgres'))).toBeUndefined();
  });
});
