import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { packPackage } from '../../../../pack/src/pack-package.mjs';
import { published } from '../../../../pack/src/published.mjs';

const exec = promisify(execFile);
const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../../..');

export interface EmptyProject extends AsyncDisposable {
  folder: string;
  /** The files of the tarball, relative to the package. */
  packed: string[];
  compile(...options: string[]): Promise<string>;
}

/** Runs the repository's compiler in a folder; resolves to its errors, or to an empty text. */
async function compile(folder: string, options: string[]): Promise<string> {
  const compiler = path.join(
    path.dirname(createRequire(import.meta.url).resolve('typescript/package.json')),
    'bin',
    'tsc',
  );
  return exec(process.execPath, [compiler, '--pretty', 'false', ...options], { cwd: folder }).then(
    ({ stdout }) => stdout,
    (failed: { stdout: string; stderr: string }) => `${failed.stdout}${failed.stderr}` || String(failed),
  );
}

/**
 * Packs the SDK from its sources as it is published, and installs the tarball in an empty project with only its declared dependencies.
 * Needs no network: the dependencies are linked from the repository.
 */
export async function installPacked(): Promise<EmptyProject> {
  const folder = await mkdtemp(path.join(tmpdir(), 'belay-sdk-'));
  const which = published.find((each) => each.folder === 'packages/sdk');
  if (!which) throw new Error('the SDK is not published');
  const { tarball, files } = await packPackage(which, folder);
  const project = path.join(folder, 'project');
  const installed = path.join(project, 'node_modules/@belay/sdk');
  await mkdir(installed, { recursive: true });
  await exec('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1']);
  const manifest = JSON.parse(await readFile(path.join(installed, 'package.json'), 'utf8')) as { dependencies: object };
  for (const name of Object.keys(manifest.dependencies)) {
    const link = path.join(project, 'node_modules', name);
    await mkdir(path.dirname(link), { recursive: true });
    await symlink(path.join(root, 'node_modules', name), link);
  }
  return {
    folder: project,
    packed: files,
    compile: (...options) => compile(project, options),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
