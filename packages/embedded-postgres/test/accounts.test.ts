import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { describeAsRoot, NOBODY } from './support/describe-as-root.js';
import { copyPlatformPackage, makeKit, type Served, serve } from './support/kit.js';
import { query, refusal, start } from './support/start.js';
import { isAlive, postmasterOf, type TemporaryFolder, temporaryFolder } from './support/temporary-folder.js';

/** `daemon`: an account that every Unix has and that is neither root nor `nobody`. */
const SOMEBODY = 1;
/** An account number without an entry in /etc/passwd. */
const UNKNOWN = 54321;

let tools: TemporaryFolder;
let kit: string;
let packageFolder: string;

/** Returns an account from /etc/passwd. */
function accountOf(wanted: string): { uid: number; gid: number; home: string; shell: string } | undefined {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
  const [, , uid, gid, , home = '', shell = ''] = lines.find((line) => line.startsWith(`${wanted}:`))?.split(':') ?? [];
  return uid === undefined ? undefined : { uid: Number(uid), gid: Number(gid), home, shell };
}

async function stop(served: Served): Promise<void> {
  served.child.stdin?.write('stop\n');
  await served.until('stopped');
  await served.ended;
}

function chownTree(path: string, uid: number): void {
  lchownSync(path, uid, uid);
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.isDirectory()) {
      chownTree(join(path, entry.name), uid);
    } else {
      lchownSync(join(path, entry.name), uid, uid);
    }
  }
}

beforeAll(() => {
  tools = temporaryFolder();
  kit = makeKit(join(tools.path, 'kit'));
  packageFolder = copyPlatformPackage(join(tools.path, 'package'));
});

afterAll(() => tools[Symbol.asyncDispose]());

describeAsRoot('the account that the server runs as', () => {
  it('is one of its own when root starts it, shared with no other service, and the secrets stay with root', async () => {
    await using folder = temporaryFolder();
    const data = join(folder.path, 'data');
    const server = await start(data);
    expect(await query(server.url('postgres'), 'select 1 as one')).toEqual([{ one: 1 }]);
    const pid = postmasterOf(join(data, 'postgres')) ?? 0;
    const account = accountOf('embedded-postgres');
    expect(account).toMatchObject({ shell: expect.stringMatching(/nologin$/), home: '/nonexistent' });
    expect([0, NOBODY]).not.toContain(account?.uid);
    expect(statSync(`/proc/${pid}`)).toMatchObject({ uid: account?.uid, gid: account?.gid });
    expect(statSync(join(data, 'postgres'))).toMatchObject({ uid: account?.uid, mode: 0o40700 });
    // What another service that runs as `nobody` could try.
    const cluster = join(data, 'postgres');
    for (const attempt of [`cat ${cluster}/PG_VERSION`, `cat ${cluster}/pg_hba.conf`, `kill -0 ${pid}`, `ls ${data}`]) {
      const tried = spawnSync('/bin/sh', ['-c', attempt], { uid: NOBODY, gid: NOBODY });
      expect([attempt, tried.status]).not.toEqual([attempt, 0]);
    }
    expect(statSync(join(data, 'postgres.password'))).toMatchObject({ uid: 0, mode: 0o100600 });
    // Others can pass through the folder to the cluster, but cannot list it.
    expect(statSync(data)).toMatchObject({ uid: 0, mode: 0o40711 });
  });

  it('is the ordinary user who starts it, through a start, a crash and a stop', async () => {
    await using folder = temporaryFolder();
    chownSync(folder.path, SOMEBODY, SOMEBODY);
    const options = { dataDirectory: join(folder.path, 'data'), packageFolder };
    const first = serve(kit, options, { uid: SOMEBODY });
    const { url } = await first.until('started');
    await query(url ?? '', 'create table kept as select 42 as answer');
    const pid = postmasterOf(join(folder.path, 'data', 'postgres')) ?? 0;
    expect(statSync(`/proc/${pid}`).uid).toBe(SOMEBODY);
    expect(statSync(join(folder.path, 'data'))).toMatchObject({ uid: SOMEBODY, mode: 0o40700 });
    first.child.kill('SIGKILL');
    await first.ended;
    const second = serve(kit, options, { uid: SOMEBODY });
    expect(await second.until('started')).toEqual({ started: true, adopted: true, url });
    await stop(second);
    // pg_ctl returns when the pid file is gone, a moment before the process ends.
    await vi.waitFor(() => expect(isAlive(pid)).toBe(false), 30_000);
    const third = serve(kit, options, { uid: SOMEBODY });
    expect(await third.until('started')).toEqual({ started: true, adopted: false, url });
    expect(await query(url ?? '', 'select answer from kept')).toEqual([{ answer: 42 }]);
    await stop(third);
  });

  it('stays the ordinary user whose cluster root starts, who can start it again afterwards', async () => {
    await using folder = temporaryFolder();
    chownSync(folder.path, SOMEBODY, SOMEBODY);
    const data = join(folder.path, 'data');
    const theirs = serve(kit, { dataDirectory: data, packageFolder }, { uid: SOMEBODY });
    await theirs.until('started');
    await stop(theirs);
    const ours = await start(data, { packageFolder });
    expect(statSync(`/proc/${postmasterOf(join(data, 'postgres'))}`).uid).toBe(SOMEBODY);
    await ours.stop();
    const again = serve(kit, { dataDirectory: data, packageFolder }, { uid: SOMEBODY });
    expect(await again.until('started')).toMatchObject({ adopted: false });
    await stop(again);
  });

  it('gets a cluster back that root copied and therefore owns', async () => {
    await using folder = temporaryFolder();
    const data = join(folder.path, 'data');
    await (await start(data)).stop();
    chownTree(join(data, 'postgres'), 0);
    const server = await start(data);
    expect(await query(server.url('postgres'), 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(statSync(join(data, 'postgres', 'base')).uid).toBe(accountOf('embedded-postgres')?.uid);
  });

  it('takes over a cluster of an older version, which ran as nobody, with its data, once it is at rest', async () => {
    await using folder = temporaryFolder();
    const data = join(folder.path, 'data');
    const first = await start(data);
    await query(first.url('postgres'), 'create table kept as select 42 as answer');
    await first.stop();
    chownTree(join(data, 'postgres'), NOBODY);
    const second = await start(data);
    expect(await query(second.url('postgres'), 'select answer from kept')).toEqual([{ answer: 42 }]);
    const pid = postmasterOf(join(data, 'postgres')) ?? 0;
    expect(statSync(`/proc/${pid}`).uid).toBe(accountOf('embedded-postgres')?.uid);
    await second.stop();
  });

  it('that the system does not know is told what PostgreSQL needs', async () => {
    await using folder = temporaryFolder();
    chownSync(folder.path, UNKNOWN, UNKNOWN);
    const served = serve(kit, { dataDirectory: join(folder.path, 'data'), packageFolder }, { uid: UNKNOWN });
    const said = await served.until('code');
    expect(said).toMatchObject({ code: 'start_failed', message: expect.stringMatching(/54321.*\/etc\/passwd/) });
    await served.ended;
  });

  it('that may not write in the data folder is told so in one line', async () => {
    await using folder = temporaryFolder();
    const data = join(folder.path, 'data');
    await (await start(data)).stop();
    for (const dataDirectory of [data, join(folder.path, 'new')]) {
      const served = serve(kit, { dataDirectory, packageFolder }, { uid: SOMEBODY });
      const said = await served.until('code');
      expect(said.code).toBe('not_writable');
      expect(said.message).toMatch(/use another one/);
      await served.ended;
    }
  });
});

/** A folder on the file system of /var/lib. The run's temporary folder is in memory. */
const SAME_DISK = '/var/tmp';

describeAsRoot('a data folder below a folder that other users cannot enter', () => {
  it('keeps its database in /var/lib/embedded, finds it again, and says where it is', async () => {
    await using folder = temporaryFolder(SAME_DISK);
    const data = join(folder.path, 'data');
    mkdirSync(join(folder.path, 'data'));
    chmodSync(folder.path, 0o700);
    const said: string[] = [];
    const first = await start(data, { log: (line) => said.push(line) });
    const target = readlinkSync(join(data, 'postgres'));
    expect(target).toMatch(/^\/var\/lib\/embedded\/[0-9a-f]{16}\/postgres$/);
    expect(said).toContainEqual(expect.stringContaining(target));
    await query(first.url('postgres'), 'create table kept as select 42 as answer');
    expect(statSync(folder.path).mode & 0o777).toBe(0o700);
    expect((await start(data)).adopted).toBe(true);
    await first.stop();
    const second = await start(data);
    expect(await query(second.url('postgres'), 'select answer from kept')).toEqual([{ answer: 42 }]);
  });

  it('is gone on with when its first start was killed in the middle', async () => {
    await using folder = temporaryFolder(SAME_DISK);
    const data = join(folder.path, 'data');
    chmodSync(folder.path, 0o700);
    const served = serve(kit, { dataDirectory: data });
    const home = await vi.waitFor(() => {
      const found = dirname(readlinkSync(join(data, 'postgres')));
      expect(readdirSync(found)).toContainEqual(expect.stringContaining('postgres.new-'));
      return found;
    }, 10_000);
    served.child.kill('SIGKILL');
    await served.ended;
    const server = await start(data);
    expect(server.adopted).toBe(false);
    expect(dirname(readlinkSync(join(data, 'postgres')))).toBe(home);
  });

  it('whose database in /var/lib/embedded is gone is rejected instead of beginning anew', async () => {
    await using folder = temporaryFolder(SAME_DISK);
    const data = join(folder.path, 'data');
    chmodSync(folder.path, 0o700);
    await (await start(data)).stop();
    rmSync(dirname(readlinkSync(join(data, 'postgres'))), { recursive: true });
    expect((await refusal(start(data))).message).toMatch(/points to a folder that does not exist/);
  });

  it('on another file system is rejected, because that may be a volume which outlives the machine', async ({
    skip,
  }) => {
    if (!existsSync('/dev/shm') || statSync('/dev/shm').dev === statSync('/var/lib').dev) {
      skip('no second file system here');
    }
    await using folder = temporaryFolder('/dev/shm');
    chmodSync(folder.path, 0o700);
    const before = existsSync('/var/lib/embedded') ? readdirSync('/var/lib/embedded') : [];
    const error = await refusal(start(join(folder.path, 'data')));
    expect(error.code).toBe('not_writable');
    expect(error.message).toMatch(/chmod o\+x.*data folder such as/);
    expect(existsSync('/var/lib/embedded') ? readdirSync('/var/lib/embedded') : []).toEqual(before);
  });
});
