import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { packPackage } from './pack-package.mjs';
import { published } from './published.mjs';
import { readNotes } from './read-notes.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
/** Only a release needs it, so it is not a dependency. */
const changesets = '@changesets/cli@2.29.7';

/** @param {string} program @param {string[]} args */
const run = (program, ...args) => execFileSync(program, args, { cwd: root, stdio: 'inherit' });

/** @param {string} file */
const readJson = async (file) => JSON.parse(await readFile(path.join(root, file), 'utf8'));

/** Gives every package the next version according to the changesets, and the changelog a heading with it. Commits nothing. */
async function prepare() {
  if (execFileSync('git', ['status', '--porcelain'], { cwd: root }).length > 0)
    throw new Error('commit your changes first');
  run('npx', '--yes', changesets, 'version');
  const { version } = await readJson('packages/contract/package.json');
  const manifest = await readFile(path.join(root, 'package.json'), 'utf8');
  await writeFile(path.join(root, 'package.json'), manifest.replace(/"version": "[^"]*"/, `"version": "${version}"`));
  const changelog = path.join(root, 'CHANGELOG.md');
  const heading = `## [Unreleased]\n\n## [${version}] - ${new Date().toISOString().slice(0, 10)}`;
  await writeFile(changelog, (await readFile(changelog, 'utf8')).replace('## [Unreleased]', heading));
  run('npm', 'install', '--package-lock-only', '--ignore-scripts');
  run('npx', 'biome', 'check', '--write', '.');
  console.log(`ready to be committed as ${version}`);
}

/** Builds and packs the published packages into `release/`, checks them, and writes the notes and the digests beside them. */
async function pack() {
  const { version } = await readJson('package.json');
  const folder = path.join(root, 'release');
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  run('npm', 'run', 'build');
  const lines = [];
  for (const which of published) {
    const manifest = await readJson(path.join(which.folder, 'package.json'));
    if (manifest.version !== version)
      throw new Error(`${which.folder} has version ${manifest.version}, the release ${version}`);
    const { tarball } = await packPackage(which, folder);
    const digest = createHash('sha256')
      .update(await readFile(tarball))
      .digest('hex');
    lines.push(`${digest}  ${path.basename(tarball)}`);
  }
  run(
    'npx',
    'vitest',
    'run',
    'test/published.test.ts',
    'apps/cli/test/installed.test.ts',
    'packages/sdk/test/packed.test.ts',
  );
  await writeFile(path.join(folder, 'SHA256SUMS'), `${lines.join('\n')}\n`);
  await writeFile(
    path.join(folder, 'notes.md'),
    readNotes(await readFile(path.join(root, 'CHANGELOG.md'), 'utf8'), version),
  );
  console.log(lines.join('\n'));
}

const steps = { prepare, pack };
const step = steps[/** @type {keyof typeof steps} */ (process.argv[2] ?? '')];
if (!step) throw new Error('npm run release -- prepare | pack');
await step();
