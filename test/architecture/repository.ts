import { posix } from 'node:path';
import { importsOf, manifestOf, packageOf, type Tree, workspacesOf } from './tree.js';

const exact = /^\d+\.\d+\.\d+(-[\w.]+)?$/;
/** Used from the command line or by the build, and not imported. */
const tools = [
  '@arethetypeswrong/cli',
  '@biomejs/biome',
  'knip',
  'patch-package',
  'publint',
  'turbo',
  'typescript',
  'vitest',
  'drizzle-kit',
  '@types/node',
];

/** The bundler of declarations needs an older compiler than ours; npm installs both beside the packing scripts only. */
const mayDiffer = (folder: string, version: string) => folder === 'pack' && exact.test(version);

/**
 * Returns versions that are not pinned exactly once, at the root; workspaces use `*`. The published SDK has ranges that include the
 * pinned versions, and packages for one platform have exact versions.
 */
export function checkPins(tree: Tree): string[] {
  const faults: string[] = [];
  const pins = manifestOf(tree, '').devDependencies ?? {};
  for (const [name, version] of Object.entries(pins)) {
    if (!exact.test(version)) faults.push(`package.json: ${name} is not pinned: ${version}`);
  }
  const asked = new Set<string>();
  for (const folder of workspacesOf(tree)) {
    const { dependencies = {}, devDependencies = {}, optionalDependencies = {} } = manifestOf(tree, folder);
    for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
      asked.add(name);
      const own = name.startsWith('@belay/');
      if (folder === 'packages/sdk' && name in dependencies && !own) {
        if (!caretHolds(version, pins[name]))
          faults.push(`${folder}: ${name} ${version} does not hold the root's ${pins[name]}`);
      } else if (version !== '*' && !mayDiffer(folder, version))
        faults.push(`${folder}: ${name} says ${version}; the root pins it, so say *`);
      else if (!own && version === '*' && !(name in pins)) faults.push(`${folder}: ${name} is not pinned at the root`);
    }
    const platforms = Object.entries(optionalDependencies);
    for (const [name, version] of platforms) {
      if (!exact.test(version) || version !== platforms[0]?.[1])
        faults.push(`${folder}: ${name} ${version} differs from its kind`);
    }
  }
  for (const [path, text] of tree)
    if (/\.(ts|tsx|mjs)$/.test(path)) for (const each of importsOf(text)) asked.add(packageOf(each));
  for (const name of Object.keys(pins)) {
    const typed = name.startsWith('@types/') && asked.has(name.slice('@types/'.length));
    if (!asked.has(name) && !typed && !tools.includes(name))
      faults.push(`package.json pins ${name}, which is not used`);
  }
  return faults;
}

/** Returns whether `^a.b.c` includes a version: the same major, and not older. */
function caretHolds(range: string, version: string | undefined): boolean {
  if (!range.startsWith('^') || version === undefined) return false;
  const [wanted, pinned] = [range.slice(1), version].map((each) => each.split(/[.-]/).slice(0, 3).map(Number));
  if (!wanted || !pinned || wanted[0] !== pinned[0]) return false;
  const [, minor = 0, patch = 0] = wanted;
  const [, pinnedMinor = 0, pinnedPatch = 0] = pinned;
  return pinnedMinor > minor || (pinnedMinor === minor && pinnedPatch >= patch);
}

/** The most lines of a README: it has a summary and, in a published package, how the package is installed and used. */
const longestReadme = 50;

/** Returns packages and programs without a README, and those whose README is a guide, which belongs into `docs`. */
export function checkReadmes(tree: Tree): string[] {
  return workspacesOf(tree).flatMap((folder) => {
    const text = tree.get(`${folder}/README.md`);
    if (text === undefined) return [`${folder} has no README.md`];
    const lines = text.trimEnd().split('\n').length;
    return lines > longestReadme
      ? [`${folder}/README.md has ${lines} lines: more than ${longestReadme} are a guide`]
      : [];
  });
}

/** Returns tables without a comment in the database. */
export function checkTableComments(tree: Tree): string[] {
  const sql = [...tree]
    .filter(([path]) => /^packages\/db\/drizzle\/.*\.sql$/.test(path))
    .map(([, text]) => text)
    .join('\n');
  const tables = [...sql.matchAll(/create table (?:if not exists )?"?(\w+)"?/gi)].map((match) => match[1] ?? '');
  const told = new Set([...sql.matchAll(/comment on table "?(\w+)"?\s+is\s+'[^']{10,}/gi)].map((match) => match[1]));
  return tables.filter((table) => !told.has(table)).map((table) => `the table ${table} has no comment`);
}

const ours = /^(\.\/)?(packages|apps|bench|chaos|docs|examples|test|\.ci)\/[\w./*{},<>-]*$/;

/** Returns paths in documents that do not exist. */
export function checkDocumentedPaths(tree: Tree): string[] {
  const faults: string[] = [];
  const exists = (path: string) =>
    tree.has(path) || [...tree.keys()].some((each) => each.startsWith(`${path.replace(/\/$/, '')}/`));
  for (const [path, text] of tree) {
    if (!/^([A-Z]+\.md|docs\/.+\.md|(packages|apps)\/[^/]+\/README\.md)$/.test(path)) continue;
    const prose = text.replace(/^```[\s\S]*?^```/gm, '');
    const linked = [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
      .map((match) => (match[1] ?? '').split('#')[0] ?? '')
      .filter((target) => target !== '' && !/^[a-z]+:/.test(target))
      .map((target) => posix.join(posix.dirname(path), target));
    const named = [...prose.matchAll(/`([^`\s]+)`/g)].map((match) => match[1] ?? '').filter((code) => ours.test(code));
    for (const target of [...linked, ...named.flatMap(expand)]) {
      const literal = target.replace(/^\.\//, '').replace(/\/?[^/]*[*<].*$/, '');
      if (literal !== '' && !exists(literal)) faults.push(`${path} names ${target}, which is not there`);
    }
  }
  return faults;
}

/** Returns `a/{b,c}.ts` as two paths. */
function expand(path: string): string[] {
  const match = /^(.*?)\{([^{}]*)\}(.*)$/.exec(path);
  if (!match) return [path];
  const [, before = '', inside = '', after = ''] = match;
  return inside.split(',').flatMap((each) => expand(`${before}${each}${after}`));
}

/** Written in pieces, so that this file does not name them. */
const machineTraces: [name: string, pattern: RegExp][] = [
  ['a package registry', new RegExp(['registry', '(npmjs|yarnpkg|npmmirror)'].join('\\.'))],
  ['where a package was fetched from', new RegExp(['"reso', 'lved": "https?:'].join(''))],
  [
    'a folder of a developer’s machine',
    new RegExp(`(^|[\\s"'\`(=:])/(${['work', 'home', 'Users', 'root'].join('|')})/[\\w.-]+/`),
  ],
];

/** Returns files whose text reveals on which machine the repository was made. */
export function checkMachineTraces(tree: Tree): string[] {
  return [...tree].flatMap(([path, text]) =>
    machineTraces
      .filter(([, pattern]) => text.split('\n').some((line) => pattern.test(line)))
      .map(([name]) => `${path} names ${name}`),
  );
}
