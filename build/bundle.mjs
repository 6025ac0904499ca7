/**
 * Bundles the program of the workspace that it is run in: `node ../../build/bundle.mjs src/main.ts [--apart package …]`. A few
 * files in place of two thousand make a program start fast. What is imported dynamically stays a file of its own, so that it
 * is loaded when it is needed. The packages that `onDemand` names stay imports, to be found in node_modules. The packages
 * after `--apart` become bundles of their own with one copy of what they share: the program shares no file with
 * them, so that its commands that need none of them read none.
 *
 * Writes to `bundle`: the modules, their source maps, and the licences of everything of others that is in them.
 */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { dirname, extname, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { onDemand } from './on-demand.mjs';

const [entry, option, ...apart] = process.argv.slice(2);
if (entry === undefined) throw new Error('the first argument must name the module to bundle');
if (option !== undefined && option !== '--apart') throw new Error(`${option} is not an option; --apart is`);
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

/**
 * A module finds the files that it reads or runs (migrations, threads, assets) by its own address. In a bundle each module keeps the
 * address that the compiler gave it.
 */
const compiledAddresses = (outdir) => ({
  name: 'compiled-addresses',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]packages[\\/][^\\/]+[\\/]src[\\/].+\.[jt]sx?$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      if (!text.includes('import.meta.url')) return undefined;
      const compiled = path.replace(/([\\/]packages[\\/][^\\/]+[\\/])src([\\/].+)\.[jt]sx?$/, '$1dist$2.js');
      const address = relative(resolve(outdir), compiled).replaceAll('\\', '/');
      const contents = text.replaceAll('import.meta.url', `new URL(${JSON.stringify(address)}, import.meta.url).href`);
      return { contents, loader: extname(path).slice(1), resolveDir: dirname(path) };
    });
  },
});

/**
 * A CommonJS library that is imported dynamically has the names that Node.js finds in it. esbuild gives its default alone, so
 * that `const { Pool } = await import('undici')` would work everywhere but in a bundle.
 */
const namesOfCommonJs = {
  name: 'names-of-commonjs',
  setup({ onResolve, onLoad, resolve: find }) {
    onResolve({ filter: /.*/ }, async ({ path, kind, importer, resolveDir, pluginData }) => {
      if (kind !== 'dynamic-import' || pluginData === namesOfCommonJs || isBuiltin(path)) return undefined;
      const found = await find(path, { kind, importer, resolveDir, pluginData: namesOfCommonJs });
      const isLibrary = found.errors.length === 0 && !found.external && /[\\/]node_modules[\\/]/.test(found.path);
      if (!isLibrary || !(await isCommonJs(found.path))) return undefined;
      return { path: found.path, namespace: 'commonjs' };
    });
    onLoad({ filter: /.*/, namespace: 'commonjs' }, async ({ path }) => {
      const names = Object.keys(await import(pathToFileURL(path).href)).filter((name) =>
        /^(?!default$)[\w$]+$/.test(name),
      );
      const contents = [
        `const all = require(${JSON.stringify(path)});`,
        'export default all;',
        `const { ${names.map((name, index) => `${name}: name${index}`).join(', ')} } = all;`,
        `export { ${names.map((name, index) => `name${index} as ${name}`).join(', ')} };`,
      ].join('\n');
      return { contents, loader: 'js', resolveDir: dirname(path) };
    });
  },
};

/** Returns whether Node.js takes a file for CommonJS. */
async function isCommonJs(path) {
  if (extname(path) !== '.js') return extname(path) === '.cjs';
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) {
    const manifest = await readFile(join(folder, 'package.json'), 'utf8').catch(() => undefined);
    if (manifest !== undefined) return JSON.parse(manifest).type !== 'module';
  }
  return true;
}

/** Imports of the packages that are bundled apart lead to their own bundles. */
const importedFromApart = {
  name: 'imported-from-apart',
  setup({ onResolve }) {
    onResolve({ filter: /^@/ }, ({ path }) =>
      apart.includes(path) ? { path: `./apart/${shortName(path)}.js`, external: true } : undefined,
    );
  },
};

await rm(folder, { recursive: true, force: true });
const inputs = new Set(await bundle([entry], folder, apart.length > 0 ? [importedFromApart] : []));
if (apart.length > 0) {
  const entries = Object.fromEntries(apart.map((name) => [shortName(name), name]));
  for (const path of await bundle(entries, join(folder, 'apart'), [])) inputs.add(path);
}
await writeFile(join(folder, 'LICENSES.txt'), await licencesOf([...inputs]));

/** Bundles these modules into a folder and returns the paths of all files that went into it. */
async function bundle(entryPoints, outdir, plugins) {
  const { metafile } = await build({
    entryPoints,
    outdir,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    conditions: ['@belay/source'],
    external: onDemand,
    // Names are not shortened: a stack trace can be read without the maps.
    minifyWhitespace: true,
    minifySyntax: true,
    // When two classes of one file have the same name, esbuild renames the second, but libraries of servers read the
    // names of classes. A command does not keep the names, because that costs a tenth of its start.
    keepNames: plugins.length === 0,
    sourcemap: true,
    sourcesContent: false,
    legalComments: 'none',
    metafile: true,
    plugins: [withoutChildProcess, compiledAddresses(outdir), namesOfCommonJs, ...plugins],
    // CommonJS packages load built-in modules with `require`.
    banner: { js: 'const require=process.getBuiltinModule;' },
    logLevel: 'warning',
  });
  return Object.keys(metafile.inputs).filter((input) => !input.startsWith('commonjs:'));
}

function shortName(name) {
  return name.slice(name.indexOf('/') + 1);
}

/**
 * Returns the licences of the packages that these files belong to, sorted by name. Throws for a package without one.
 */
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
