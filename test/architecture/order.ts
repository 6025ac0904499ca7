import { posix } from 'node:path';
import { boundaries } from './boundaries.mjs';
import { codeOf, importsOf, manifestOf, type Tree, workspacesOf } from './tree.js';

const script = /\.(ts|tsx|js|mjs)$/;

/**
 * Returns which files of the repository each file imports. An import of a package counts as an import of the file that
 * the package exports at this entry point.
 */
function readImports(tree: Tree): Map<string, Set<string>> {
  const doors = readDoors(tree);
  const imports = new Map<string, Set<string>>();
  for (const [path, text] of tree) {
    if (!script.test(path)) continue;
    const found = importsOf(text).flatMap((specifier) => {
      const target = specifier.startsWith('.') ? resolve(tree, path, specifier) : doors.get(specifier);
      return target === undefined ? [] : [target];
    });
    imports.set(path, new Set(found));
  }
  return imports;
}

function readDoors(tree: Tree): Map<string, string> {
  const doors = new Map<string, string>();
  for (const folder of workspacesOf(tree)) {
    for (const [subpath, conditions] of Object.entries(manifestOf(tree, folder).exports ?? {})) {
      const source = conditions['@belay/source'];
      if (source !== undefined)
        doors.set(`@belay/${folder.split('/')[1]}${subpath.slice(1)}`, posix.join(folder, source));
    }
  }
  return doors;
}

function resolve(tree: Tree, from: string, specifier: string): string | undefined {
  const target = posix.join(posix.dirname(from), specifier);
  return [target.replace(/\.js$/, '.ts'), target.replace(/\.js$/, '.tsx'), target].find((path) => tree.has(path));
}

/** Returns circles of imports, of types too (Tarjan's strongly connected components). */
export function checkCircles(tree: Tree): string[] {
  const imports = readImports(tree);
  const faults: string[] = [];
  const seen = new Map<string, number>();
  const open: string[] = [];
  const visit = (path: string): number => {
    const index = seen.size;
    seen.set(path, index);
    open.push(path);
    let lowest = index;
    for (const next of imports.get(path) ?? []) {
      const known = seen.get(next);
      if (known === undefined) lowest = Math.min(lowest, visit(next));
      else if (open.includes(next)) lowest = Math.min(lowest, known);
    }
    if (lowest === index) {
      const circle = open.splice(open.indexOf(path));
      if (circle.length > 1 || imports.get(path)?.has(path)) faults.push(`a circle of imports: ${circle.join(', ')}`);
    }
    return lowest;
  };
  for (const path of imports.keys()) if (!seen.has(path)) visit(path);
  return faults;
}

/** Returns imports from higher folders in packages that have an order of folders. */
export function checkFolders(tree: Tree): string[] {
  const imports = readImports(tree);
  return Object.entries(boundaries).flatMap(([folder, { folders }]) => {
    if (folders === undefined) return [];
    const root = `${folder}/src/`;
    const faults: string[] = [];
    for (const [path, targets] of imports) {
      if (!path.startsWith(root)) continue;
      const height = heightOf(path.slice(root.length), folders);
      if (height === -1) faults.push(`${path} is in a folder without a place in test/architecture/boundaries.mjs`);
      for (const target of targets) {
        if (!target.startsWith(root) || heightOf(target.slice(root.length), folders) <= height) continue;
        faults.push(`${path} imports upward: ${target.slice(root.length)}`);
      }
    }
    return faults;
  });
}

/** Returns the place of a file in an order: its own when it is named, else that of its folder. */
function heightOf(path: string, folders: readonly string[]): number {
  const named = folders.indexOf(path);
  return named === -1 ? folders.indexOf(path.includes('/') ? (path.split('/')[0] ?? '') : '.') : named;
}

/** A file with fewer lines is small. It is joined with its importer when they have at most `joined` lines together. */
const small = 30;
const joined = 250;

/** Files whose small imports stay separate files, with the reason: most of them list things that have a file each. */
const apart: Record<string, string> = {
  'apps/cli/src/program.ts': 'a file for each command, or for each group of commands',
  'packages/api/src/roots.ts': 'a file for each router',
  'packages/console/src/texts.ts': 'a file for the texts of each page or area',
  'packages/sdk/src/types.ts':
    'the package writes out what is of contract, and leaves what is in files of its own (pack/src/expand-types.mjs)',
};

/**
 * Returns small files that only one other file of their package imports and that belong in it. Files that are loaded on demand,
 * entry points, and files that an entry point exports stay separate.
 */
export function checkSmallFiles(tree: Tree): string[] {
  const doors = new Set(readDoors(tree).values());
  const isDoor = (path: string) => doors.has(path) || /\/index\.ts$/.test(path);
  const importers = new Map<string, string[]>();
  for (const [path, targets] of readImports(tree)) {
    const own = sourceFolderOf(path);
    if (own === undefined) continue;
    for (const target of targets) {
      if (target.startsWith(own)) importers.set(target, [...(importers.get(target) ?? []), path]);
    }
  }
  const faults: string[] = [];
  const needed = new Set<string>();
  for (const [path, [importer = '', ...others]] of importers) {
    const lines = linesOf(tree, path);
    if (others.length > 0 || lines >= small || isDoor(path) || isDoor(importer) || !/(?<!\.d)\.tsx?$/.test(path))
      continue;
    if (lines + linesOf(tree, importer) > joined || isLoadedLater(tree, importer, path)) continue;
    if (importer in apart) needed.add(importer);
    else faults.push(`${path} has ${lines} lines, and only ${importer} imports it; join them`);
  }
  for (const path of Object.keys(apart)) {
    if (tree.has(path) && !needed.has(path))
      faults.push(`${path} is listed without need: no small file stays apart from it`);
  }
  return faults;
}

function sourceFolderOf(path: string): string | undefined {
  return /^(packages|apps)\/[^/]+\/src\//.exec(path)?.[0];
}

function linesOf(tree: Tree, path: string): number {
  return (tree.get(path) ?? '').trimEnd().split('\n').length;
}

/** Returns whether a file imports another one only when it needs it. */
function isLoadedLater(tree: Tree, path: string, target: string): boolean {
  const later = [...codeOf(tree.get(path) ?? '').matchAll(/\bimport\(\s*'([^']+)'/g)];
  return later.some(([, specifier = '']) => resolve(tree, path, specifier) === target);
}

/** Packages that people outside this repository use, so that their exports need no user in it. */
const forOthers = ['packages/contract', 'packages/sdk', 'packages/embedded-postgres', 'packages/providers', 'apps/cli'];

/** Returns exports of entry points that are not by name, and exported names that are not used outside of the package's sources. */
export function checkNames(tree: Tree): string[] {
  const faults: string[] = [];
  for (const folder of workspacesOf(tree)) {
    for (const [subpath, { '@belay/source': source = '' }] of Object.entries(manifestOf(tree, folder).exports ?? {})) {
      const door = posix.join(folder, source);
      const text = tree.get(door) ?? '';
      if (/^export \*/m.test(codeOf(text))) faults.push(`${door} exports everything of a file`);
      if (forOthers.includes(folder)) continue;
      const words = wordsBeside(tree, folder, `@belay/${folder.split('/')[1]}${subpath.slice(1)}`);
      for (const exported of exportedBy(text)) {
        if (!words.has(exported)) faults.push(`${door} exports ${exported}, which no other package uses`);
      }
    }
  }
  return faults;
}

/** Returns the words of the files that import an entry point, and of the tests of its package, which may import it by its path. */
function wordsBeside(tree: Tree, folder: string, door: string): Set<string> {
  const users = [...tree].filter(
    ([path, text]) =>
      script.test(path) &&
      (path.startsWith(`${folder}/test/`) || (text.includes(`'${door}'`) && !path.startsWith(`${folder}/src/`))),
  );
  return new Set(users.flatMap(([, text]) => codeOf(text).match(/\w+/g) ?? []));
}

function exportedBy(door: string): string[] {
  return [...codeOf(door).matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, list = '']) =>
    list.split(',').flatMap((item) => item.trim().match(/\w+$/)?.[0] ?? []),
  );
}

/**
 * Packages that may have names of contract: the client, whose declarations are bundled from it, and the two with a
 * language of their own: documents of workflows, and the port to providers.
 */
const ownNames = ['contract', 'sdk', 'workflow', 'providers'];

/** Returns types that another package exports under a name of contract. */
export function checkShapes(tree: Tree): string[] {
  const shapes = new Map<string, string>();
  for (const [path, text] of tree) {
    if (!/^packages\/contract\/src\/[\w-]+\.ts$/.test(path)) continue;
    for (const name of typesOf(text)) shapes.set(name, path);
  }
  const faults: string[] = [];
  for (const folder of workspacesOf(tree)) {
    if (ownNames.includes(folder.split('/')[1] ?? '')) continue;
    for (const { '@belay/source': source } of Object.values(manifestOf(tree, folder).exports ?? {})) {
      const door = posix.join(folder, source ?? '');
      for (const name of new Set(namesOf(tree, door))) {
        if (shapes.has(name)) faults.push(`${door} exports ${name}, which is ${shapes.get(name)}'s`);
      }
    }
  }
  return faults;
}

function typesOf(text: string): string[] {
  const declaration = /^export (?:class|interface|type) (\w+)/gm;
  return [...codeOf(text).matchAll(declaration)].map(([, name = '']) => name);
}

/** Returns the names that an entry point exports, including the types of files that it exports as a whole. */
function namesOf(tree: Tree, door: string): string[] {
  const text = tree.get(door) ?? '';
  const whole = [...codeOf(text).matchAll(/^export \* from '(\.[^']+)'/gm)].map(([, from = '']) => from);
  return [
    ...exportedBy(text),
    ...typesOf(text),
    ...whole.flatMap((from) => namesOf(tree, resolve(tree, door, from) ?? '')),
  ];
}
