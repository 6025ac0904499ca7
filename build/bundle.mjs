/**
 * Bundles the program of the workspace that it is run in: `node ../../build/bundle.mjs src/main.ts [package …]`. One file in
 * place of hundreds is what makes a program start fast. What is imported dynamically stays a file of its own, so that it
 * is loaded when it is needed; the packages that are named stay imports, to be found in node_modules.
 *
 * Writes to `bundle`: the modules, their source maps, and the licences of everything of others that is in them.
 */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';

const [entry, ...external] = process.argv.slice(2);
if (entry === undefined) throw new Error('the first argument must name the module to bundle');
const folder = 'bundle';

/** Commander loads `child_process` for commands that are programs of their own, which we do not have: 10 ms of each start. */
const withoutChildProcess = {
  name: 'without-child-process',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(node:)?child_process$/ }, ({ importer }) =>
      /[\\/]node_modules[\\/]commander[\\/]/.test(importer) ? { path: 'none', namespace: 'none' } : undefined,
    );
    onLoad({ filter: /^none$/, namespace: 'none' }, () => ({ contents: 'module.exports = {};' }));
  },
};

await rm(folder, { recursive: true, force: true });
const { metafile } = await build({
  entryPoints: [entry],
  outdir: folder,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  conditions: ['@belay/source'],
  external,
  // Names stay as they are: a stack trace can be read without the maps.
  minifyWhitespace: true,
  minifySyntax: true,
  sourcemap: true,
  sourcesContent: false,
  legalComments: 'none',
  metafile: true,
  plugins: [withoutChildProcess],
  // CommonJS packages load built-in modules with `require`.
  banner: { js: 'const require=process.getBuiltinModule;' },
  logLevel: 'warning',
});
await writeFile(join(folder, 'LICENSES.txt'), await licencesOf(Object.keys(metafile.inputs)));

/** The licences of the packages that these files are of, by name. Throws for a package without one. */
async function licencesOf(files) {
  const roots = new Set(
    files.flatMap((file) => /^(?:.*[\\/])?node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(resolve(file))?.[0] ?? []),
  );
  const parts = [];
  for (const root of roots) {
    const { name, version, license } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
    const text = (await readdir(root)).find((each) => /^licen[cs]e/i.test(each));
    if (license === undefined && text === undefined) throw new Error(`${root} has no licence`);
    parts.push(
      `${name} ${version} (${license ?? 'see below'})\n\n${text === undefined ? '' : await readFile(join(root, text), 'utf8')}`,
    );
  }
  return parts.sort().join(`\n${'-'.repeat(80)}\n\n`);
}
