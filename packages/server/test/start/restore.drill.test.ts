import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createClient } from '@belay/sdk';
import postgres from 'postgres';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import {
  type Fifteen,
  hasFifteen,
  makeFifteenFolder,
  runFifteen,
  startFifteen,
} from '../../../providers/test/postgres/fifteen.js';
import { startTestServer, type TestServer } from '../demo/test-server.js';
import { type Folder, makeFolder, type ServerProcess, startProcess } from './server-process.js';

/**
 * Follows docs/guides/backup.md with PostgreSQL's own tools, `belay restore` and a server that was killed. The result is checked in
 * the database of the target.
 */

const belay = fileURLToPath(new URL('../../../../apps/cli/bundle/main.js', import.meta.url));

const configuration = `
providers:
  target: { provider: postgres, config: { url: "\${env:TARGET_URL}", identity: username, email_domains: [example.com] } }
roles:
  reader: { providers: [target], inherits: ["target:reader"], workflows: [automatic], max_duration: PT8H }
workflows:
  automatic:
    workflow:
      document: { dsl: 1.0.3, namespace: test, name: automatic, version: 1.0.0 }
      do:
        - grant: { call: access.grant }
        - hold: { call: access.hold }
`;

/** A database of Belay, with a way to back it up and restore it. */
interface Backup {
  /** The current address of the database. */
  url: string;
  take(): Promise<void>;
  /** Sets the moment to which it is restored, where that can be later than the backup. */
  mark(): Promise<void>;
  restore(): Promise<void>;
  stop(): Promise<void>;
}

describe.runIf(hasFifteen())('a restore', { timeout: 300_000 }, () => {
  let target: TestServer;
  let folder: Folder;
  let server: ServerProcess;
  const tokens: Record<string, string> = {};
  beforeEach(async () => {
    target = await startTestServer();
    folder = await makeFolder({ 'belay.yaml': configuration });
    const sql = open(target.url('postgres'));
    await sql`create role reader`;
    for (const name of ['ada', 'grace', 'alan', 'mary']) await sql.unsafe(`create role ${name} login`);
    await sql.end();
  });
  afterEach(async () => {
    await server?.[Symbol.asyncDispose]();
    await folder?.[Symbol.asyncDispose]();
    await target?.stop();
  });

  function environment(backup: Backup): Record<string, string> {
    return {
      DATABASE_URL: backup.url,
      TARGET_URL: target.url('postgres'),
      BELAY_SECRET: 'a secret for tests that is long enough',
      BELAY_DATA: join(folder.path, '.belay'),
    };
  }

  async function start(backup: Backup): Promise<void> {
    server = startProcess(folder.path, environment(backup), 'server');
    await server.says('is ready at');
  }

  /** Runs a command of an operator. Rejects with its output when it fails. */
  async function operate(backup: Backup, ...args: string[]): Promise<string> {
    const env = { PATH: process.env.PATH, ...environment(backup) };
    return (await promisify(execFile)(process.execPath, [belay, ...args], { cwd: folder.path, env })).stdout;
  }

  const client = (person: string) =>
    createClient({ url: /is ready at (\S+)/.exec(server.stdout())?.[1] ?? '', token: tokens[person] ?? '' });

  /** Requests access for a person, and returns the request. */
  async function request(person: string): Promise<string> {
    const asked = { role: 'reader', duration: 'PT8H', reason: 'the drill' };
    return (await client(person).elevation.request(asked)).output.execution_id;
  }

  async function members(): Promise<string[]> {
    const sql = open(target.url('postgres'));
    const rows = await sql`
      select m.rolname as name from pg_auth_members a
      join pg_roles r on r.oid = a.roleid join pg_roles m on m.oid = a.member
      where r.rolname = 'reader' and m.rolname <> current_user order by 1`;
    await sql.end();
    return rows.map(({ name }) => String(name));
  }

  it.each([
    ['pg_basebackup and the archived log, to a time', openCluster],
    ['pg_dump and pg_restore, into an empty database', openDump],
  ])('with %s ends what was granted after it, and grants nothing before', async (_how, openBackup) => {
    const backup = await openBackup();
    onTestFinished(() => backup.stop());
    await start(backup);
    for (const person of ['ada', 'grace', 'alan', 'mary']) {
      const user = `${person}@example.com`;
      tokens[person] = (await operate(backup, 'token', 'create', '--user', user, '--ttl', 'PT8H')).trim();
    }
    const first = await request('ada');
    await expect.poll(members).toEqual(['ada']);
    await backup.take();
    await request('grace');
    await expect.poll(members).toEqual(['ada', 'grace']);
    await backup.mark();

    // These changes are lost with the disk: alan is granted access, and ada's access is revoked for a reason.
    await request('alan');
    await expect.poll(members).toEqual(['ada', 'alan', 'grace']);
    await operate(backup, 'access', 'revoke', 'ada@example.com', '--reason', 'laptop stolen');
    await expect.poll(members).toEqual(['alan', 'grace']);
    server.process.kill('SIGKILL');
    await server.exited;
    await backup.restore();

    await operate(backup, 'restore', 'begin', '--reason', 'the disk failed');
    await start(backup);
    const status = async () => JSON.parse(await operate(backup, 'restore', 'status', '--json'));
    const later = await request('mary');
    // The comparison waits 40 seconds, so that calls of the killed server have ended.
    const compared = expect.poll(async () => (await status()).providers, { timeout: 120_000, interval: 1_000 });
    await compared.toMatchObject([{ status: 'compared' }]);
    const kept = openBackup === openDump ? [] : ['grace'];
    const { leftovers } = (await status()) as { leftovers: { id: string; identity: string }[] };
    expect(leftovers.map(({ identity }) => identity).sort()).toEqual(kept.length === 0 ? ['alan', 'grace'] : ['alan']);
    await expect(operate(backup, 'restore', 'open')).rejects.toThrow(/restore/);
    expect(await members()).toEqual(['alan', 'grace']);
    expect((await client('mary').executions.get(later)).status).not.toBe('active');

    for (const { id } of leftovers) {
      await operate(backup, 'restore', 'revoke', id, '--reason', 'granted after the backup');
    }
    await expect.poll(members).toEqual(kept);
    await operate(backup, 'restore', 'open');
    // Mary's request waited for `restore open`. Ada's access was revoked after the backup, and is not granted again.
    await expect.poll(members).toEqual([...kept, 'mary']);
    await expect.poll(async () => (await client('ada').executions.get(first)).status).not.toBe('active');
    expect(await members()).toEqual([...kept, 'mary']);
  });
});

function open(url: string) {
  return postgres(url, { max: 1, onnotice: () => {} });
}

/** Starts a cluster whose log is archived, so that it can be restored to any time. */
async function openCluster(): Promise<Backup> {
  const folder = makeFifteenFolder();
  const [data, copy, archive] = ['data', 'copy', 'archive'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(archive);
  // The account of the server writes to this folder.
  chmodSync(archive, 0o777);
  const archiving = ['archive_mode=on', `archive_command=cp %p ${archive}/%f`];
  let cluster: Fifteen = await startFifteen({ data, settings: archiving });
  let time = '';
  return {
    get url() {
      return cluster.url;
    },
    async take() {
      runFifteen('pg_basebackup', ['-d', cluster.url, '-D', copy, '-c', 'fast', '-X', 'none', '--no-manifest']);
    },
    async mark() {
      const sql = open(cluster.url);
      time = String((await sql`select clock_timestamp()::text as now`)[0]?.now);
      await sql.end();
    },
    async restore() {
      // Archives the last segment of the log; otherwise its content would be lost with the disk.
      const sql = open(cluster.url);
      await sql`select pg_switch_wal()`;
      await sql.end();
      await cluster.stop();
      rmSync(data, { recursive: true });
      renameSync(copy, data);
      writeFileSync(join(data, 'recovery.signal'), '');
      cluster = await startFifteen({
        data,
        settings: [
          `restore_command=cp ${archive}/%f %p`,
          `recovery_target_time=${time}`,
          'recovery_target_action=promote',
        ],
      });
      const restored = open(cluster.url);
      await expect.poll(async () => (await restored`select pg_is_in_recovery() as is`)[0]?.is).toBe(false);
      await restored.end();
    },
    async stop() {
      await cluster.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Starts a cluster in which a database is dumped, and restored as another database. */
async function openDump(): Promise<Backup> {
  const cluster = await startFifteen();
  const folder = makeFifteenFolder();
  const dump = join(folder, 'belay.dump');
  let { url } = cluster;
  return {
    get url() {
      return url;
    },
    async take() {
      runFifteen('pg_dump', ['-d', url, '--format=custom', '-f', dump]);
    },
    // A dump can be restored to one moment only.
    async mark() {},
    async restore() {
      const sql = open(url);
      await sql`create database restored`;
      await sql.end();
      url = url.replace(/postgres$/, 'restored');
      runFifteen('pg_restore', ['-d', url, dump]);
    },
    async stop() {
      await cluster.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
