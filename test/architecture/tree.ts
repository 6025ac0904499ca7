import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Files by their path from the root, with `/` between folders. The checks see nothing else, so fixtures are easy. */
export type Tree = ReadonlyMap<string, string>;

const root = fileURLToPath(new URL('../../', import.meta.url));
const generated = new Set(['node_modules', 'dist', 'bundle', 'coverage', '.git', '.turbo', '.belay']);
const text = /(^|\/)(LICENSE|run|\.npmrc|[^/]+\.(ts|tsx|js|mjs|json|sql|md|ya?ml|sh|feature))$/;

/** Reads every text file that belongs to the repository. */
export function readTree(): Tree {
  const tree = new Map<string, string>();
  const visit = (folder: string) => {
    for (const entry of readdirSync(`${root}${folder}`, { withFileTypes: true })) {
      const path = `${folder}${entry.name}`;
      if (entry.isDirectory() && !generated.has(entry.name)) visit(`${path}/`);
      // Of files that are not text, only the names are kept.
      if (entry.isFile()) tree.set(path, text.test(path) ? readFileSync(`${root}${path}`, 'utf8') : '');
    }
  };
  visit('');
  return tree;
}

export interface Manifest {
  name?: string;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  exports?: Record<string, Record<string, string>>;
  scripts?: Record<string, string>;
}

export function manifestOf(tree: Tree, folder: string): Manifest {
  return JSON.parse(tree.get(folder === '' ? 'package.json' : `${folder}/package.json`) ?? '{}') as Manifest;
}

/** Returns the folders of the workspaces. */
export function workspacesOf(tree: Tree): string[] {
  return [...tree.keys()].flatMap(
    (path) => /^((?:packages|apps)\/[^/]+|bench|chaos|pack)\/package\.json$/.exec(path)?.[1] ?? [],
  );
}

/** Returns code without its comments. This is good enough for the checks: a `//` in a URL stays. */
export function codeOf(source: string): string {
  return source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1');
}

/** Returns every module that a source imports, in any form. */
export function importsOf(source: string): string[] {
  const code = codeOf(source);
  const forms = [
    /^\s*(?:import|export)\b[^'";]*\bfrom\s*(['"])([^'"$\s]+)\1/gm,
    /^\s*import\s*(['"])([^'"$\s]+)\1/gm,
    /\b(?:import|require)\s*\(\s*(['"])([^'"$\s]+)\1/g,
  ];
  return forms.flatMap((form) => [...code.matchAll(form)].map((match) => match[2] ?? ''));
}

/** Returns the package that a specifier belongs to: `@scope/name` or `name`. */
export function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

/** Returns whether a file is a source of ours: what is built and run, without the tests. */
export function isSource(path: string): boolean {
  return /^((packages|apps)\/[^/]+\/src|(bench|chaos|pack)\/src|examples)\/.+\.(ts|tsx|js|mjs)$/.test(path);
}
