import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { rolldown } from 'rolldown';
import { dts } from 'rolldown-plugin-dts';
import { expandTypes } from './expand-types.mjs';

/**
 * Bundles the compiled code of a package, with the code that it uses from our other packages, into `index.js` and `index.d.ts`. Its
 * other imports remain imports. Further entry points are copied; they have only types, and import those of `types` from the bundle.
 *
 * @param {{ root: string, from: string, types: string | undefined, into: string, doors: readonly string[] }} options `types`: the
 *   module of types to write out, if any; `doors`: names of further entry points
 */
export async function bundlePackage({ root, from, types, into, doors }) {
  const build = path.join(from, 'dist');
  const declarations = await mkdtemp(path.join(into, 'types-'));
  try {
    await cp(build, declarations, { recursive: true });
    if (types !== undefined) {
      await writeFile(path.join(declarations, `${types}.d.ts`), expandTypes(path.join(from, 'src', `${types}.ts`)));
    }
    await write(path.join(build, 'index.js'), into, [ours(root, '.js')]);
    await write(path.join(declarations, 'index.d.ts'), into, [
      ours(root, '.d.ts'),
      dts({ dtsInput: true, emitDtsOnly: true, tsconfig: false }),
    ]);
    for (const door of doors) {
      const text = await readFile(path.join(build, `${door}.d.ts`), 'utf8');
      await writeFile(path.join(into, `${door}.d.ts`), text.replaceAll(`'./${types}.js'`, "'./index.js'"));
      await cp(path.join(build, `${door}.js`), path.join(into, `${door}.js`));
    }
  } finally {
    await rm(declarations, { recursive: true, force: true });
  }
}

/** @param {string} input @param {string} dir @param {import('rolldown').Plugin[]} plugins */
async function write(input, dir, plugins) {
  const bundle = await rolldown({
    input: { index: input },
    external: (id) => !id.startsWith('.') && !path.isAbsolute(id) && !id.startsWith('@belay/'),
    plugins,
  });
  await bundle.write({ dir, format: 'es' });
  await bundle.close();
}

/**
 * Resolves an import such as `@belay/contract/errors` to the file that the compiler wrote.
 *
 * @param {string} root @param {string} ending
 * @returns {import('rolldown').Plugin}
 */
function ours(root, ending) {
  return {
    name: 'ours',
    resolveId: {
      order: 'pre',
      handler(id) {
        const [, name, door = 'index'] = /^@belay\/([^/]+)(?:\/(.+))?$/.exec(id) ?? [];
        return name === undefined ? null : path.join(root, 'packages', name, 'dist', `${door}${ending}`);
      },
    },
  };
}
