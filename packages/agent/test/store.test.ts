import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { removeUnfinished } from '@belay/host';
import { clock } from '@belay/program';
import { keepLines } from '@belay/testkit/serve';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NOBODY } from '../../embedded-postgres/test/support/describe-as-root.js';
import { findHolder, holdFolder } from '../src/data-folder.js';
import { createFiles, type Files, prepareFolder } from '../src/files.js';
import { createLocalLogins } from '../src/logins.js';
import { createLocalLedger } from '../src/open-machine.js';
import { openSessionStore } from '../src/session-store.js';
import { type Keyring, openStoreKey } from '../src/store-key.js';
import type { KeptSession, LocalContext } from '../src/verbs/ports.js';
import { keepLocalSession } from '../src/verbs/sessions.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'belay-store-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const randomName = () => randomBytes(6).toString('hex');
const disk = createFiles(randomName);
const person = { email: 'rita@example.test', name: 'Rita', groups: ['engineers'], provider: 'demo' };
const sessionOf = (provider: string): KeptSession => ({
  provider,
  version: 1,
  expiry: '2100-01-01T00:00:00.000Z',
  session: 'sealed',
  person,
  storedAt: '2026-01-01T00:00:00.000Z',
});
const open = async (files: Files = disk, keyring?: Keyring) =>
  openSessionStore({
    folder,
    files,
    key: await openStoreKey({ folder, files, keyring, randomBytes }),
    log: keepLines().log,
    clock,
    randomBytes,
  });
/** Returns file operations that fail like a full disk while `full` is set. */
function fullDisk(): { files: Files; full: boolean } {
  const state = {
    full: false,
    files: {
      ...disk,
      replace: async (path: string, content: string | Uint8Array) => {
        if (state.full) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
        await disk.replace(path, content);
      },
    },
  };
  return state;
}

describe.runIf(process.platform !== 'win32')('the folder of an agent', () => {
  it('is not used while others may write to it: they could put their own sessions and server there', async () => {
    for (const mode of [0o777, 0o770, 0o720, 0o1777]) {
      await chmod(folder, mode);
      await expect(prepareFolder(folder)).rejects.toThrow(`run: chmod 700 ${folder}`);
    }
    await chmod(folder, 0o755);
    await prepareFolder(folder);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
  });
  it.runIf(process.getuid?.() === 0)('is not used when it is another user’s', async () => {
    await chown(folder, NOBODY, NOBODY);
    await expect(prepareFolder(folder)).rejects.toThrow('belongs to another user');
  });
});

describe('the store of sessions', () => {
  it('is one file, sealed, for its owner only, and nothing else is left beside it', async () => {
    const store = await open();
    await Promise.all(['a', 'b', 'c'].map((provider) => store.put(sessionOf(provider))));
    expect((await readdir(folder)).sort()).toEqual(['key', 'sessions']);
    for (const name of ['key', 'sessions']) expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
    expect(await readFile(join(folder, 'sessions'), 'utf8')).not.toMatch(/rita|sealed/);
    expect(
      (await open())
        .all()
        .map(({ provider }) => provider)
        .sort(),
    ).toEqual(['a', 'b', 'c']);
    expect(await store.remove('b')).toBe(true);
    expect(await store.remove('b')).toBe(false);
    expect(
      (await open())
        .all()
        .map(({ provider }) => provider)
        .sort(),
    ).toEqual(['a', 'c']);
  });

  it('keeps nothing that it could not read again: all others would be lost with it', async () => {
    const store = await open();
    await store.put(sessionOf('a'));
    const [kept] = store.all();
    const strange = { ...sessionOf('b'), version: 'two', person: undefined } as unknown as KeptSession;
    await expect(store.put(strange)).rejects.toMatchObject({ code: 'unavailable' });
    await expect(store.replace(kept as KeptSession, strange)).rejects.toMatchObject({ code: 'unavailable' });
    expect(store.all()).toEqual([sessionOf('a')]);
    expect((await open()).all()).toEqual([sessionOf('a')]);
  });

  it('loses nothing and changes nothing on a full disk, and goes on when there is room', async () => {
    const state = fullDisk();
    const store = await open(state.files);
    await store.put(sessionOf('a'));
    state.full = true;
    await expect(store.put(sessionOf('b'))).rejects.toMatchObject({ code: 'unavailable' });
    await expect(store.remove('a')).rejects.toMatchObject({ code: 'unavailable' });
    expect(store.all().map(({ provider }) => provider)).toEqual(['a']);
    expect((await open()).all().map(({ provider }) => provider)).toEqual(['a']);
    state.full = false;
    await store.put(sessionOf('b'));
    expect((await open()).all()).toHaveLength(2);
  });

  it('keeps the verification code valid when the disk was full', async () => {
    const state = fullDisk();
    const sessions = await open(state.files);
    const logins = createLocalLogins({
      server: 'https://x.example',
      baseUrl: 'http://127.0.0.1:1',
      label: 'a test',
      randomBytes,
      elapsed: () => 0,
    });
    const { log } = keepLines();
    const context = {
      mode: 'agent',
      configuration: {
        current: () => undefined,
        confirmedAt: () => undefined,
        receivedAt: () => undefined,
        server: () => '',
        key: () => undefined,
      },
      sessions,
      logins,
      ledger: createLocalLedger(clock),
      log,
      clock,
      skew: () => 0,
      program: { version: '0.1.0', revision: 'test', baseUrl: '', server: '' },
      upstream: {
        exchange: () => Promise.reject(new Error('not asked')),
        verify: async () => ({ provider: 'demo', version: 1, expiry: '2100-01-01T00:00:00.000Z', person }),
      },
    } satisfies LocalContext;
    const { code } = logins.begin({ provider: 'demo' });
    const input = { code, provider: 'demo', session: 'sealed' };
    state.full = true;
    await expect(keepLocalSession(context, input)).rejects.toMatchObject({ code: 'unavailable' });
    state.full = false;
    expect(await keepLocalSession(context, input)).toMatchObject({ expiry: '2100-01-01T00:00:00.000Z' });
    await expect(keepLocalSession(context, input)).rejects.toMatchObject({ code: 'forbidden' });
  });

  it('loses no session that it said it kept, killed at any moment', async () => {
    const script = fileURLToPath(new URL('./support/put-sessions.mjs', import.meta.url));
    const acknowledged = new Set<string>();
    for (let turn = 1; turn <= 6; turn++) {
      await new Promise<void>((resolve, reject) => {
        const child = spawn(process.execPath, [script, folder], { stdio: ['ignore', 'pipe', 'pipe'] });
        let said = '';
        let wrong = '';
        child.stderr.on('data', (data) => {
          wrong += String(data);
        });
        child.stdout.on('data', (data) => {
          said += String(data);
          // Kills the process in the middle of its next write.
          if (said.split('\n').length > turn * 3) child.kill('SIGKILL');
        });
        child.once('close', (_, signal) => {
          for (const [, name = ''] of said.matchAll(/kept (p\d+)\n/g)) acknowledged.add(name);
          if (signal === 'SIGKILL') resolve();
          else reject(new Error(wrong));
        });
      });
      const held = (await open()).all().map(({ provider }) => provider);
      expect(held).toEqual(expect.arrayContaining([...acknowledged]));
    }
    await removeUnfinished(folder);
    expect((await readdir(folder)).sort()).toEqual(['key', 'sessions']);
  });

  it('is not opened with another key: what it was stays aside', async () => {
    await (await open()).put(sessionOf('a'));
    await rm(join(folder, 'key'));
    const store = await open();
    expect([store.all(), store.health()]).toEqual([[], expect.stringContaining('degraded')]);
    expect((await readdir(folder)).filter((name) => name.startsWith('sessions.damaged-'))).toHaveLength(1);
    await store.put(sessionOf('b'));
    expect((await open()).health()).toMatch(/^healthy/);
  });
});

describe('the key of the store', () => {
  /** Returns a keyring like that of a desktop, as far as the store uses it. */
  function keyringOf(): Keyring & { kept: string | undefined; locked: boolean } {
    const keyring = {
      kept: undefined as string | undefined,
      locked: false,
      get: async () => (keyring.locked ? Promise.reject(new Error('locked')) : keyring.kept),
      set: async (secret: string) => {
        if (keyring.locked) throw new Error('locked');
        keyring.kept = secret;
      },
    };
    return keyring;
  }

  it('is kept by the keyring where there is one, and then in no file', async () => {
    const keyring = keyringOf();
    await (await open(disk, keyring)).put(sessionOf('a'));
    const store = await open(disk, keyring);
    expect([store.all().length, store.health()]).toEqual([1, expect.stringContaining('keyring')]);
    expect(await readFile(join(folder, 'key'), 'utf8')).not.toContain(keyring.kept);
  });

  it('is waited for when that keyring is locked, and nothing is begun afresh', async () => {
    const keyring = keyringOf();
    await (await open(disk, keyring)).put(sessionOf('a'));
    keyring.locked = true;
    await expect(open(disk, keyring)).rejects.toThrow('unlock it');
    await expect(open(disk)).rejects.toThrow('unlock it');
    keyring.locked = false;
    expect((await open(disk, keyring)).all()).toHaveLength(1);
  });

  it('is in a file of mode 0600 where the keyring does not keep what it is given', async () => {
    const keyring = { ...keyringOf(), get: async () => undefined };
    const key = await openStoreKey({ folder, files: disk, keyring, randomBytes });
    expect(key.kept).toBe('file');
    expect((await stat(join(folder, 'key'))).mode & 0o777).toBe(0o600);
  });
});

describe('the lock of the folder', () => {
  it('is held by one, names it, and is given back', async () => {
    const release = await holdFolder(folder, randomName);
    expect(await findHolder(folder)).toBe(process.pid);
    await expect(holdFolder(folder, randomName)).rejects.toThrow(`pid ${process.pid}`);
    await release();
    expect(await findHolder(folder)).toBeUndefined();
  });

  it('of a process that is gone, or of another one with its number, is broken', async () => {
    for (const dead of [{ pid: 2 ** 22 - 3, birth: 'x' }, { pid: process.pid, birth: 'of another' }, 'nonsense']) {
      await writeFile(join(folder, 'lock'), JSON.stringify(dead));
      await (await holdFolder(folder, randomName))();
    }
    expect(await readdir(folder)).toEqual([]);
  });
});

describe('a verification code', () => {
  it('is good for five minutes, once, for its provider, and not after a restart', () => {
    let now = 0;
    const options = {
      server: 'https://x.example',
      baseUrl: 'http://127.0.0.1:1',
      label: 'a test',
      randomBytes,
      elapsed: () => now,
    };
    const logins = createLocalLogins(options);
    const { code } = logins.begin({ provider: 'demo' });
    expect(() => createLocalLogins(options).take(code, 'demo')).toThrow('verification code');
    expect(() => logins.take(code, 'other')).toThrow('verification code');
    now = 5 * 60_000 - 1;
    logins.take(code, 'demo');
    expect(() => logins.take(code, 'demo')).toThrow('verification code');
    const late = logins.begin({ provider: 'demo' });
    now += 5 * 60_000;
    expect(() => logins.take(late.code, 'demo')).toThrow('verification code');
  });

  it('comes with a sign-in that goes back to this machine only', () => {
    const logins = createLocalLogins({
      server: 'https://x.example',
      baseUrl: 'http://127.0.0.1:1',
      label: 'a test',
      randomBytes,
      elapsed: () => 0,
    });
    for (const callback of [
      'https://evil.test/',
      'http://evil.test',
      'http://127.0.0.1@evil.test/',
      'nonsense',
      'javascript:1',
    ]) {
      expect(() => logins.begin({ callback }), callback).toThrow(
        expect.objectContaining({ code: 'invalid', issues: [expect.objectContaining({ path: 'callback' })] }),
      );
    }
    const { url } = logins.begin({ callback: 'http://localhost:3000/done' });
    expect(new URL(url).searchParams.get('callback')).toMatch(/^http:\/\/127\.0\.0\.1:1\/auth\/return\/[\w-]{43}$/);
  });
});
