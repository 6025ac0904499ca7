import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFile, readIfPresent, removeUnfinished, replaceFile } from '../src/atomic-file.js';

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'belay-file-'));
  path = join(folder, 'file');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

let count = 0;
const token = () => `write${++count}`;

describe('a file that is replaced', () => {
  it('is whole, for its owner only, and has nothing beside it', async () => {
    expect(await readIfPresent(path)).toBeUndefined();
    await writeFile(path, 'old', { mode: 0o644 });
    await replaceFile(path, 'new', { token: token() });
    expect((await readIfPresent(path))?.toString()).toBe('new');
    if (process.platform !== 'win32') expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toEqual(['file']);
  });

  it('stays as it was when it cannot be written', async () => {
    await rm(path, { force: true });
    await replaceFile(path, 'old', { token: token() });
    const name = token();
    await writeFile(`${path}.unfinished-${name}`, 'of another writer');
    await expect(replaceFile(path, 'new', { token: name })).rejects.toMatchObject({ code: 'EEXIST' });
    await expect(replaceFile(join(folder, 'none', 'file'), 'x', { token: token() })).rejects.toMatchObject({
      code: 'ENOENT',
    });
    expect(await readFile(path, 'utf8')).toBe('old');
  });

  it('is one writer’s content as a whole, however many write', async () => {
    const contents = Array.from({ length: 20 }, (_, index) => String(index).repeat(100_000));
    await Promise.all(contents.map((content) => replaceFile(path, content, { token: token() })));
    expect(contents).toContain(await readFile(path, 'utf8'));
    expect(await readdir(folder)).toEqual(['file']);
  });

  it.runIf(process.platform !== 'win32')('replaces a planted link instead of writing through it', async () => {
    const target = join(folder, 'target');
    await writeFile(target, 'kept');
    await symlink(target, path);
    await replaceFile(path, 'new', { token: token() });
    expect([await readFile(target, 'utf8'), await readFile(path, 'utf8')]).toEqual(['kept', 'new']);
    const name = token();
    await symlink(target, `${path}.unfinished-${name}`);
    await expect(replaceFile(path, 'newer', { token: name })).rejects.toMatchObject({ code: 'EEXIST' });
    expect(await readFile(target, 'utf8')).toBe('kept');
  });

  it('needs a folder that may be written to, and says so by the error of the system', async () => {
    if (process.getuid?.() === 0 || process.platform === 'win32') return;
    await chmod(folder, 0o500);
    await expect(replaceFile(path, 'new', { token: token() })).rejects.toMatchObject({ code: 'EACCES' });
  });
});

it('a file that is made is made once, by one of those that try', async () => {
  const made = await Promise.all(
    Array.from({ length: 10 }, (_, index) => createFile(path, `by ${index}`, { token: token() })),
  );
  expect(made.filter(Boolean)).toHaveLength(1);
  expect(await readFile(path, 'utf8')).toBe(`by ${made.indexOf(true)}`);
  expect(await readdir(folder)).toEqual(['file']);
});

it('removes what killed writers left, and nothing else', async () => {
  for (const name of ['file', 'file.unfinished-a1', 'other.unfinished', 'unfinished-a']) {
    await writeFile(join(folder, name), '');
  }
  await removeUnfinished(folder);
  expect((await readdir(folder)).sort()).toEqual(['file', 'other.unfinished', 'unfinished-a']);
});
