import { spawn } from 'node:child_process';
import { chown, link, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { inspectProcess } from '../src/inspect-process.js';
import { findLockHolder, holdLock, tryLock } from '../src/lock-file.js';

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'belay-lock-'));
  path = join(folder, 'lock');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

let count = 0;
const token = () => `hold${++count}`;
const delay = (milliseconds: number) => wait(milliseconds);

/** Returns the lock of a process, as that process would have written it. */
const lockOf = async (pid: number, birth?: string) =>
  JSON.stringify({ pid, birth: birth ?? (await inspectProcess(pid)).birth, token: token() });

/** Returns a process that ran and was killed, with its lock. */
async function findDeadProcess(): Promise<{ pid: number; text: string }> {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  const { pid = 0 } = child;
  const text = await lockOf(pid);
  const ended = new Promise((resolve) => child.once('close', resolve));
  child.kill('SIGKILL');
  await ended;
  return { pid, text };
}

describe('a lock file', () => {
  it('is held by one at a time, names its holder, and leaves nothing behind', async () => {
    const lock = await tryLock({ path, token: token() });
    expect(lock.held).toBe(true);
    expect(await findLockHolder(path)).toBe(process.pid);
    expect(await tryLock({ path, token: token() })).toEqual({ held: false, pid: process.pid });
    if (lock.held) await lock.release();
    expect(await findLockHolder(path)).toBeUndefined();
    expect(await readdir(folder)).toEqual([]);
  });

  it('does not outlive a holder that was killed', async () => {
    await writeFile(path, (await findDeadProcess()).text);
    expect(await findLockHolder(path)).toBeUndefined();
    expect(await tryLock({ path, token: token() })).toMatchObject({ held: true });
    expect(await readdir(folder)).toEqual(['lock']);
  });

  it.runIf(process.platform === 'linux')(
    'does not survive when its process id belongs to a later process',
    async () => {
      await writeFile(path, await lockOf(process.pid, 'another boot/1'));
      expect(await findLockHolder(path)).toBeUndefined();
      expect(await tryLock({ path, token: token() })).toMatchObject({ held: true });
    },
  );

  it('is given to one of many that find a dead one, and to the others in turn', async () => {
    await writeFile(path, (await findDeadProcess()).text);
    let inside = 0;
    let most = 0;
    await Promise.all(
      Array.from({ length: 30 }, async () => {
        const release = await holdLock({ path, token: token(), delay, patience: 60_000 });
        most = Math.max(most, ++inside);
        await wait(1);
        inside--;
        await release?.();
      }),
    );
    expect(most).toBe(1);
    expect(await readdir(folder)).toEqual([]);
  });

  it('is not taken by a late process that found it dead before another took it', async () => {
    const { text } = await findDeadProcess();
    await writeFile(path, text);
    const first = await tryLock({ path, token: token() });
    expect(first.held).toBe(true);
    // A process that was stopped after it read the dead lock, and before it took the lock for the succession, continues like this.
    expect(await tryLock({ path, token: token() })).toEqual({ held: false, pid: process.pid });
    expect(await findLockHolder(path)).toBe(process.pid);
  });

  it('is settled although the process that would have succeeded a dead one died as well', async () => {
    const { createHash } = await import('node:crypto');
    const [first, second] = [await findDeadProcess(), await findDeadProcess()];
    await writeFile(path, first.text);
    const digest = createHash('sha256').update(first.text).digest('hex').slice(0, 16);
    await writeFile(`${path}.after-${digest}`, second.text);
    await writeFile(`${path}.unfinished-gone`, second.text);
    expect(await tryLock({ path, token: token() })).toMatchObject({ held: true });
    expect(await readdir(folder)).toEqual(['lock']);
  });

  it('waits as long as it is told, then gives up', async () => {
    const lock = await tryLock({ path, token: token() });
    expect(await holdLock({ path, token: token(), delay, patience: 100 })).toBeUndefined();
    if (lock.held) await lock.release();
    expect(await holdLock({ path, token: token(), delay, patience: 100 })).toBeDefined();
  });

  it('is not released by a hold that lost it', async () => {
    const lock = await tryLock({ path, token: token() });
    await rm(path);
    const other = await tryLock({ path, token: token() });
    if (lock.held) await lock.release();
    expect(other.held && (await findLockHolder(path))).toBe(process.pid);
  });

  it.each(['', '{', 'null', '{"pid":-1}', '{"pid":"1","birth":""}', 'x'.repeat(100)])(
    'that names no holder, %j, is replaced',
    async (text) => {
      await writeFile(path, text);
      expect(await tryLock({ path, token: token() })).toMatchObject({ held: true });
      expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({ pid: process.pid });
    },
  );
});

describe.runIf(process.platform !== 'win32')('a planted lock', () => {
  it('that is a link is neither followed nor replaced', async () => {
    await writeFile(join(folder, 'secret'), 'kept');
    for (const target of [join(folder, 'secret'), join(folder, 'nowhere'), '/dev/zero']) {
      await symlink(target, path);
      await expect(tryLock({ path, token: token() })).rejects.toMatchObject({ code: 'ENOTALOCK' });
      await rm(path);
    }
    expect(await readFile(join(folder, 'secret'), 'utf8')).toBe('kept');
    expect(await readdir(folder)).toEqual(['secret']);
  });

  it('that is a folder, a pipe or a large file is rejected at once', async () => {
    await mkdir(path);
    await expect(tryLock({ path, token: token() })).rejects.toThrow();
    await rm(path, { recursive: true });
    await writeFile(path, 'x'.repeat(5_000));
    await expect(tryLock({ path, token: token() })).rejects.toMatchObject({ code: 'ENOTALOCK' });
    await rm(path);
    const made = new Promise((resolve) => spawn('mkfifo', [path]).once('close', resolve));
    expect(await made).toBe(0);
    await expect(tryLock({ path, token: token() })).rejects.toMatchObject({ code: 'ENOTALOCK' });
  });

  it.runIf(process.getuid?.() === 0)('of another user is rejected to an ordinary user', async () => {
    // Root may replace it, so that a start as root succeeds after the process of an ordinary user was killed.
    await writeFile(path, (await findDeadProcess()).text);
    await chown(path, 65_534, 65_534);
    expect(await tryLock({ path, token: token() })).toMatchObject({ held: true });
    await link(path, `${path}.copy`);
    await chown(folder, 65_534, 65_534);
    await rm(path);
    await writeFile(path, '{}', { mode: 0o644 });
    const script = `
      import { tryLock } from ${JSON.stringify(new URL('../dist/lock-file.js', import.meta.url).href)};
      process.setgid(65534); process.setuid(65534);
      await tryLock({ path: ${JSON.stringify(path)}, token: 'theirs' }).then(() => 'taken', (error) => error.code).then(console.log);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let said = '';
    child.stdout.on('data', (data) => {
      said += String(data);
    });
    await new Promise((resolve) => child.once('close', resolve));
    expect(said.trim()).toBe('ENOTALOCK');
  });
});
