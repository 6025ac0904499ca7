import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packPackage } from '../pack/src/pack-package.mjs';
import { published } from '../pack/src/published.mjs';

const exec = promisify(execFile);
const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const compiler = path.join(path.dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');

/** Runs a program of the repository. Resolves to its output when it failed, and to an empty text when it succeeded. */
async function complaintsOf(program: string, args: string[], cwd = root): Promise<string> {
  return exec(process.execPath, [program, ...args], { cwd }).then(
    () => '',
    (failed: { stdout: string; stderr: string }) => `${failed.stdout}${failed.stderr}` || String(failed),
  );
}

interface Manifest {
  name: string;
  private?: boolean;
  exports: Record<string, Record<string, string>>;
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

describe.each(published.filter(({ beside }) => beside === undefined))('$folder, packed', (which) => {
  let folder: string;
  let project: string;
  let tarball: string;
  let manifest: Manifest;

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'belay-published-'));
    ({ tarball } = await packPackage(which, folder));
    project = path.join(folder, 'project');
    const installed = path.join(project, 'node_modules/@belay', path.basename(which.folder));
    await mkdir(installed, { recursive: true });
    await exec('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1']);
    manifest = JSON.parse(await readFile(path.join(installed, 'package.json'), 'utf8')) as Manifest;
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('is accepted by publint', async () => {
    expect(await complaintsOf('node_modules/publint/src/cli.js', [tarball, '--strict'])).toBe('');
  });

  it('is accepted by attw', async () => {
    const options = ['--profile', 'esm-only', '--format', 'ascii', '--no-color', tarball];
    expect(await complaintsOf('node_modules/@arethetypeswrong/cli/dist/index.js', options)).toBe('');
  });

  it('depends on published packages only, in versions', () => {
    expect(manifest.private).toBeUndefined();
    const outside = published.map((each) => `@belay/${path.basename(each.folder)}`);
    for (const [name, range] of Object.entries(manifest.dependencies ?? {})) {
      expect(range).toMatch(/^\^\d/);
      if (name.startsWith('@belay/')) expect(outside).toContain(name);
    }
  });

  it('compiles and loads in an empty project, through every door', async () => {
    // The dependencies are linked and not installed, so that no network is needed.
    for (const name of Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })) {
      const link = path.join(project, 'node_modules', name);
      await mkdir(path.dirname(link), { recursive: true });
      await symlink(path.join(root, 'node_modules', name), link);
    }
    const doors = Object.keys(manifest.exports).map((door) => `${manifest.name}${door.slice(1)}`);
    const program = doors
      .map((door, index) => `import * as door${index} from '${door}';\nvoid door${index};`)
      .join('\n');
    await writeFile(path.join(project, 'package.json'), JSON.stringify({ name: 'empty', type: 'module' }));
    await writeFile(path.join(project, 'doors.ts'), program);
    // `esnext.disposable`, because the declarations of tRPC, which @belay/sdk/trpc imports, use Disposable.
    const strict = [
      '--strict',
      '--skipLibCheck',
      'false',
      '--target',
      'es2023',
      '--lib',
      'es2023,dom,dom.asynciterable,esnext.disposable',
    ];
    strict.push('--module', 'nodenext', '--types', '');
    expect(await complaintsOf(compiler, [...strict, 'doors.ts'], project)).toBe('');
    await exec(process.execPath, ['doors.js'], { cwd: project });
  });
});
