import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const exec = promisify(execFile);
const sdk = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const root = path.resolve(sdk, '../..');

export interface EmptyProject extends AsyncDisposable {
  folder: string;
  /** The tarball's own files, relative to the package. */
  packed: string[];
  compile(...options: string[]): Promise<string>;
}

/** Runs the repository's compiler in a folder; resolves to what it complained about, nothing when it did not. */
export async function compile(folder: string, options: string[]): Promise<string> {
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
 * Packs the SDK from its sources as npm would publish it, and installs the tarball in an empty project beside its declared
 * dependencies and nothing else. Without a network: those are linked from the repository.
 */
export async function installPacked(): Promise<EmptyProject> {
  const folder = await mkdtemp(path.join(tmpdir(), 'belay-sdk-'));
  const staging = path.join(folder, 'staging');
  await mkdir(staging);
  for (const file of ['package.json', 'README.md', 'src']) {
    await cp(path.join(sdk, file), path.join(staging, file), { recursive: true });
  }
  const faults = await compile(sdk, [
    '-p',
    '.',
    '--outDir',
    path.join(staging, 'dist'),
    '--tsBuildInfoFile',
    path.join(staging, 'dist/.tsbuildinfo'),
  ]);
  if (faults) throw new Error(faults);
  const npm = ['pack', '--offline', '--json', '--ignore-scripts', '--pack-destination', folder];
  const { stdout } = await exec('npm', npm, { cwd: staging });
  const [report] = JSON.parse(stdout) as { filename: string; files: { path: string }[] }[];
  if (!report) throw new Error('npm packed nothing');
  const project = path.join(folder, 'project');
  const installed = path.join(project, 'node_modules/@belay/sdk');
  await mkdir(installed, { recursive: true });
  await exec('tar', ['-xzf', path.join(folder, report.filename), '-C', installed, '--strip-components=1']);
  const manifest = JSON.parse(await readFile(path.join(installed, 'package.json'), 'utf8')) as { dependencies: object };
  for (const name of Object.keys(manifest.dependencies)) {
    const link = path.join(project, 'node_modules', name);
    await mkdir(path.dirname(link), { recursive: true });
    await symlink(path.join(root, 'node_modules', name), link);
  }
  return {
    folder: project,
    packed: report.files.map((file) => file.path),
    compile: (...options) => compile(project, options),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
