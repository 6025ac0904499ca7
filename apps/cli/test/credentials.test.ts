import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Credential, openCredentials } from '../src/credentials.js';

const one: Credential = {
  token: 't-1',
  expires_at: '2030-01-01T00:00:00.000Z',
  email: 'ada@example.com',
  provider: 'demo',
};
const two: Credential = { ...one, token: 't-2' };
let folder: string;
let file: string;
let drafts = 0;
const open = () => openCredentials({ file, posix: true, randomName: () => `draft-${(drafts += 1)}` });

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'belay-credentials-'));
  file = path.join(folder, 'belay', 'credentials.json');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('the credentials file', () => {
  it('keeps one token a server, and remembers the last one signed in to', async () => {
    expect(await open().find('http://a')).toBeUndefined();
    await open().save('http://a', one);
    await open().save('http://b', two);
    expect(await open().find('http://a')).toEqual(one);
    expect(await open().find('http://b')).toEqual(two);
    expect(await open().defaultServer()).toBe('http://b');
    expect(await open().remove('http://a')).toBe(true);
    expect(await open().remove('http://a')).toBe(false);
    expect(await open().find('http://a')).toBeUndefined();
    expect(await open().find('http://b')).toEqual(two);
    expect(await open().find('constructor')).toBeUndefined();
  });

  it('can be read by its owner only, with any umask, and so can its folder', async () => {
    const umask = process.umask(0);
    try {
      await open().save('http://a', one);
    } finally {
      process.umask(umask);
    }
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(path.dirname(file))).mode & 0o777).toBe(0o700);
  });

  it('is rejected when other users could read or write it', async () => {
    await open().save('http://a', one);
    await chmod(file, 0o640);
    await expect(open().find('http://a')).rejects.toThrow('chmod 600');
  });

  it('is whole at every moment while it is written, and leaves no draft', async () => {
    await open().save('http://a', one);
    let writing = true;
    const reading = (async () => {
      while (writing) JSON.parse(await readFile(file, 'utf8'));
    })();
    await Promise.all(Array.from({ length: 40 }, (_, index) => open().save(`http://${index % 3}`, two)));
    writing = false;
    await reading;
    expect(await readdir(path.dirname(file))).toEqual(['credentials.json']);
  });

  it('stays as it was when it cannot be written', async () => {
    await open().save('http://a', one);
    const before = await readFile(file, 'utf8');
    const taken = openCredentials({ file, posix: true, randomName: () => 'taken' });
    await mkdir(`${file}.unfinished-taken`);
    await expect(taken.save('http://a', two)).rejects.toMatchObject({ code: 'failed' });
    expect(await readFile(file, 'utf8')).toBe(before);
  });

  it.runIf(process.getuid?.() === 0)('that another user wrote is not believed, by root neither', async () => {
    await open().save('http://a', one);
    await chown(file, 65_534, 65_534);
    await expect(open().find('http://a')).rejects.toThrow(`${file} belongs to another user`);
    await expect(open().save('http://b', two)).rejects.toMatchObject({ code: 'failed' });
  });

  it('of another program is neither used nor overwritten', async () => {
    await mkdir(path.dirname(file));
    await writeFile(file, 'something else', { mode: 0o600 });
    await expect(open().save('http://a', one)).rejects.toThrow('not a valid credentials file');
    expect(await readFile(file, 'utf8')).toBe('something else');
  });
});
