import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';

/**
 * Fills a folder with a program as it is published: the bundle that `npm run build` made, without source maps, and the packages that it
 * loads from outside the bundle, so that an installation downloads nothing else.
 *
 * @param {{ root: string, from: string, beside: readonly string[], into: string }} options
 */
export async function stageProgram({ root, from, beside, into }) {
  const required = createRequire(path.join(root, 'package.json'));
  await cp(path.join(from, 'bundle'), path.join(into, 'bundle'), {
    recursive: true,
    filter: (file) => !file.endsWith('.map'),
  });
  /** @type {Record<string, string>} */
  const dependencies = {};
  for (const name of beside) {
    const source = path.dirname(required.resolve(`${name}/package.json`));
    const { version, main } = JSON.parse(await readFile(path.join(source, 'package.json'), 'utf8'));
    dependencies[name] = version;
    const folder = path.join(into, 'node_modules', name);
    await mkdir(folder, { recursive: true });
    for (const file of ['package.json', 'LICENSE', main, main.replace(/\.js$/, '.wasm')]) {
      await cp(path.join(source, file), path.join(folder, file));
    }
  }
  const { engines } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8'));
  const { name, version, description, license, type, bin } = JSON.parse(
    await readFile(path.join(from, 'package.json'), 'utf8'),
  );
  const manifest = { name, version, description, license, type, bin, engines, files: ['bundle'] };
  const whole = { ...manifest, dependencies, bundleDependencies: [...beside] };
  await writeFile(path.join(into, 'package.json'), `${JSON.stringify(whole, null, 2)}\n`);
}
