import { posix } from 'node:path';
import { allowedPatterns, boundaries, lintOverrides } from './boundaries.mjs';
import { importsOf, isSource, manifestOf, packageOf, type Tree, workspacesOf } from './tree.js';

/** Returns imports that the table does not allow, and relative ones that leave their package. */
export function checkImports(tree: Tree): string[] {
  const faults: string[] = [];
  for (const [path, text] of tree) {
    const folder = Object.keys(boundaries).find((each) => path.startsWith(`${each}/src/`));
    if (folder === undefined || !isSource(path)) continue;
    const allowed = allowedPatterns(folder, path.slice(`${folder}/src/`.length));
    for (const specifier of importsOf(text)) {
      if (specifier.startsWith('.')) {
        const target = posix.join(posix.dirname(path), specifier);
        if (!target.startsWith(`${folder}/`)) faults.push(`${path} reaches out of its package: ${specifier}`);
      } else if (!allowed.some((pattern) => matches(pattern, specifier))) {
        faults.push(`${path} may not import ${specifier}`);
      }
    }
  }
  return faults;
}

function matches(pattern: string, specifier: string): boolean {
  if (pattern.endsWith('/**')) return specifier.startsWith(pattern.slice(0, -2).replace('*', ''));
  return pattern === 'node:*' ? specifier.startsWith('node:') : pattern === specifier;
}

/** Returns packages without a row in the table, and dependencies in a package.json that its row does not allow. */
export function checkWorkspaceDependencies(tree: Tree): string[] {
  const faults: string[] = [];
  for (const folder of workspacesOf(tree)) {
    if (folder === 'bench') continue;
    if (!(folder in boundaries)) {
      faults.push(`${folder} has no row in test/architecture/boundaries.mjs`);
      continue;
    }
    const { workspace, files = [] } = boundaries[folder] ?? { workspace: [] };
    const allowed = [
      ...workspace.map((name) => packageOf(`@belay/${name}`)),
      ...files.flatMap(({ imports }) => imports),
    ];
    for (const name of Object.keys(manifestOf(tree, folder).dependencies ?? {})) {
      if (name.startsWith('@belay/') && !allowed.includes(name)) faults.push(`${folder} may not depend on ${name}`);
    }
  }
  return faults;
}

/** Returns imports that a package does not declare, and declarations that it does not import. */
export function checkDeclarations(tree: Tree): string[] {
  const faults: string[] = [];
  const pins = manifestOf(tree, '').devDependencies ?? {};
  for (const folder of workspacesOf(tree)) {
    const {
      dependencies = {},
      devDependencies = {},
      optionalDependencies = {},
      scripts = {},
      name: own,
    } = manifestOf(tree, folder);
    const declared = { ...dependencies, ...optionalDependencies };
    const used = new Set<string>();
    for (const [path, text] of tree) {
      if (!path.startsWith(`${folder}/`)) continue;
      for (const specifier of importsOf(text)) {
        if (specifier.startsWith('.') || specifier.startsWith('node:')) continue;
        const name = packageOf(specifier);
        used.add(name);
        // A source may import the types of vitest, because a suite gets the runner as an argument.
        const known = name in declared || name === own || name === 'vitest';
        if (isSource(path) && !known)
          faults.push(`${folder}/package.json does not declare ${name}, which ${path} imports`);
        if (!isSource(path) && !known && !(name in devDependencies) && !(name in pins) && !name.startsWith('@belay/')) {
          faults.push(`no package.json declares ${name}, which ${path} imports`);
        }
      }
    }
    const commands = Object.values(scripts).join(' ');
    for (const name of [...Object.keys(dependencies), ...Object.keys(devDependencies)]) {
      if (!used.has(name) && !commands.includes(name)) faults.push(`${folder} declares ${name} and does not import it`);
    }
  }
  return faults;
}

/** Workspaces that are run and never imported. */
const programs = ['apps/server', 'apps/demo', 'bench', 'chaos', 'pack'];

/**
 * Returns packages without an `exports` map, maps with other conditions or with wildcards, and imports that bypass the
 * maps.
 */
export function checkExports(tree: Tree): string[] {
  const faults: string[] = [];
  const doors = new Set<string>();
  for (const folder of workspacesOf(tree)) {
    const { exports } = manifestOf(tree, folder);
    if (exports === undefined && !programs.includes(folder)) faults.push(`${folder}/package.json has no exports`);
    for (const [subpath, conditions] of Object.entries(exports ?? {})) {
      doors.add(`@belay/${folder.split('/')[1]}${subpath.slice(1)}`);
      if (Object.keys(conditions).join() !== '@belay/source,types,default') {
        faults.push(`${folder}/package.json: the conditions of exports "${subpath}" are @belay/source, types, default`);
      }
      if (subpath.includes('*')) faults.push(`${folder}/package.json opens everything: "${subpath}"`);
    }
  }
  for (const [path, text] of tree) {
    if (!/\.(ts|tsx|js|mjs)$/.test(path) || path.startsWith('test/architecture')) continue;
    for (const specifier of importsOf(text)) {
      if (specifier.startsWith('@belay/') && !doors.has(specifier))
        faults.push(`${path} imports past the front door: ${specifier}`);
    }
  }
  return faults;
}

/** Returns differences between the lint rules and the table. */
export function checkLintRules(configuration: string): string[] {
  const { overrides } = JSON.parse(configuration) as { overrides: { linter?: { rules?: { style?: object } } }[] };
  const rules = overrides.filter(({ linter }) => 'noRestrictedImports' in (linter?.rules?.style ?? {}));
  if (JSON.stringify(rules) === JSON.stringify(lintOverrides())) return [];
  return ['biome.json differs from the table; run: node test/architecture/write-lint-rules.mjs'];
}

/** Returns imports of apps, also in tests: what two programs need is a package. */
export function checkApps(tree: Tree): string[] {
  const apps = workspacesOf(tree).filter((folder) => folder.startsWith('apps/'));
  const names = new Map(apps.map((folder) => [manifestOf(tree, folder).name, folder]));
  const faults: string[] = [];
  for (const [path, text] of tree) {
    if (!/\.(ts|tsx|js|mjs)$/.test(path)) continue;
    for (const specifier of importsOf(text)) {
      const target = posix.join(posix.dirname(path), specifier);
      const app = specifier.startsWith('.')
        ? apps.find((folder) => target.startsWith(`${folder}/`))
        : names.get(packageOf(specifier));
      if (app !== undefined && !path.startsWith(`${app}/`)) faults.push(`${path} imports an app: ${specifier}`);
    }
  }
  return faults;
}
