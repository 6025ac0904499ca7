import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { bundlePackage } from './bundle-package.mjs';
import { stageProgram } from './stage-program.mjs';

const exec = promisify(execFile);
const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

/**
 * Packs a package as it is published: its compiled code, its README, and a package.json with its dependencies at run time. Resolves to
 * the tarball and the files in it. Needs no network.
 *
 * @param {{ folder: string, bundled?: boolean, types?: string, peers?: readonly string[], beside?: readonly string[] }} which a row of published.mjs
 * @param {string} into an existing folder
 * @returns {Promise<{ tarball: string, files: string[] }>}
 */
export async function packPackage({ folder, bundled = false, types, peers = [], beside }, into) {
  const from = path.join(root, folder);
  const staging = await mkdtemp(path.join(into, 'staging-'));
  try {
    if (beside === undefined) await stageLibrary({ from, bundled, types, peers, into: staging });
    else await stageProgram({ root, from, beside, into: staging });
    await cp(path.join(from, 'README.md'), path.join(staging, 'README.md'));
    const options = ['pack', '--offline', '--json', '--ignore-scripts', '--pack-destination', into];
    const { stdout } = await exec('npm', options, { cwd: staging });
    const [report] = JSON.parse(stdout);
    return {
      tarball: path.join(into, report.filename),
      files: report.files.map((/** @type {{ path: string }} */ file) => file.path),
    };
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/**
 * Compiles a library and copies it into a folder.
 *
 * @param {{ from: string, bundled: boolean, types: string | undefined, peers: readonly string[], into: string }} options
 */
async function stageLibrary({ from, bundled, types, peers, into }) {
  const compiler = path.join(
    path.dirname(createRequire(path.join(root, 'package.json')).resolve('typescript/package.json')),
    'bin/tsc',
  );
  await exec(process.execPath, [compiler, '-b', from], { cwd: root });
  await mkdir(path.join(into, 'dist'));
  if (!bundled) {
    const kept = (/** @type {string} */ file) => !/(\.tsbuildinfo|\.map)$/.test(file);
    await cp(path.join(from, 'dist'), path.join(into, 'dist'), { recursive: true, filter: kept });
  } else {
    const { exports } = JSON.parse(await readFile(path.join(from, 'package.json'), 'utf8'));
    const doors = Object.keys(exports).flatMap((door) => (door === '.' ? [] : [door.slice(2)]));
    await bundlePackage({ root, from, types, into: path.join(into, 'dist'), doors });
  }
  const manifest = await publishedManifest(from, { bundled, peers });
  await writeFile(path.join(into, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

/** @param {string} from @param {boolean} bundled */
async function publishedManifest(from, { bundled, peers }) {
  const { devDependencies: pins } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8'));
  const {
    scripts,
    devDependencies,
    private: _,
    files,
    ...kept
  } = JSON.parse(await readFile(path.join(from, 'package.json'), 'utf8'));
  const inVersions = (/** @type {Record<string, string>} */ declared = {}) =>
    Object.fromEntries(
      Object.entries(declared)
        .filter(([name]) => !(bundled && name.startsWith('@belay/')))
        .map(([name, range]) => [name, range === '*' ? `^${pins[name] ?? kept.version}` : range]),
    );
  const exports = Object.entries(kept.exports).map(([door, { '@belay/source': _source, ...conditions }]) => [
    door,
    conditions,
  ]);
  return {
    ...kept,
    exports: Object.fromEntries(exports),
    files: ['dist'],
    dependencies: inVersions(kept.dependencies),
    ...(peers.length > 0 && {
      peerDependencies: inVersions(Object.fromEntries(peers.map((name) => [name, '*']))),
      peerDependenciesMeta: Object.fromEntries(peers.map((name) => [name, { optional: true }])),
    }),
  };
}
