import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import {
  checkAuthorizerCalls,
  checkLength,
  checkLocks,
  checkOrder,
  checkPeople,
  checkPurity,
  checkSignals,
  checkTransactions,
  checkWriters,
} from './architecture/behaviour.js';
import { checkCitations, checkDecisions, checkInterface, checkLinks } from './architecture/citations.js';
import { checkEnglish } from './architecture/english.mjs';
import {
  checkApps,
  checkDeclarations,
  checkExports,
  checkImports,
  checkLintRules,
  checkWorkspaceDependencies,
} from './architecture/imports.js';
import { checkCircles, checkFolders, checkNames, checkShapes, checkSmallFiles } from './architecture/order.js';
import { checkRepetition } from './architecture/repetition.js';
import {
  checkDocumentedPaths,
  checkMachineTraces,
  checkPins,
  checkReadmes,
  checkTableComments,
} from './architecture/repository.js';
import { importsOf, manifestOf, readTree, type Tree } from './architecture/tree.js';

const tree = readTree();

/** Returns what Biome reports, with our configuration, for a repository with one file. */
function lint(path: string, text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'belay-lint-'));
  try {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, path), text);
    writeFileSync(join(folder, 'biome.json'), tree.get('biome.json') ?? '');
    const biome = fileURLToPath(new URL('../node_modules/@biomejs/biome/bin/biome', import.meta.url));
    const { stdout, stderr } = spawnSync(process.execPath, [biome, 'lint', '--vcs-enabled=false', '.'], {
      cwd: folder,
      encoding: 'utf8',
    });
    return stdout + stderr;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Returns a small repository with these files. */
function broken(files: Record<string, string | object>): Tree {
  return new Map(
    Object.entries(files).map(([path, text]) => [path, typeof text === 'string' ? text : JSON.stringify(text)]),
  );
}

const conditions = { '@belay/source': './src/index.ts', types: './dist/index.d.ts', default: './dist/index.js' };

describe('the house as it stands', () => {
  it('is read: every package is there', () => {
    expect([...tree.keys()]).toEqual(expect.arrayContaining(['packages/core/src/index.ts', 'apps/server/src/main.ts']));
    expect(tree.size).toBeGreaterThan(300);
  });

  it.each([
    ['imports only along the table', checkImports],
    ['depends on its own packages only along the table', checkWorkspaceDependencies],
    ['declares what it imports, and imports what it declares', checkDeclarations],
    ['enters packages by their front door', checkExports],
    ['imports no app', checkApps],
    ['has no circle of imports', checkCircles],
    ['imports downward inside core and the engine', checkFolders],
    ['exports by name what others use', checkNames],
    ['exports no name that contract has', checkShapes],
    ['calls an authorizer only in core/access', checkAuthorizerCalls],
    ['compares names of people only in core/people', checkPeople],
    ['appends to the ledger in every transaction of core', checkTransactions],
    ['sends the statements of a transaction in order', checkOrder],
    ['reads time, randomness and environment only at the composition roots', checkPurity],
    ['waits for no lock that others can take', checkLocks],
    ['joins signals only where their sources are held', checkSignals],
    ['writes executions and steps in one package', checkWriters],
    ['says in each package what it is for', checkReadmes],
    ['keeps its files small', checkLength],
    ['has no small file that a single other file imports', checkSmallFiles],
    ['writes no six lines twice', checkRepetition],
    ['pins every version once', checkPins],
    ['comments on every table', checkTableComments],
    ['names only files that are there in its documents', checkDocumentedPaths],
    ['links only files and headings that exist', checkLinks],
    ['cites only documents, sections, rules and decisions that exist', checkCitations],
    ['numbers its decisions without gaps', checkDecisions],
    ['documents only operations that are declared', checkInterface],
    ['tells nothing of the machine it was made on', checkMachineTraces],
    ['keeps to the rules of english-words.mjs', checkEnglish],
  ])('%s', (_, check) => {
    expect(check(tree)).toEqual([]);
  });

  it('is judged by `npm run lint`', () => {
    expect(manifestOf(tree, '').scripts?.lint).toContain('vitest run test/architecture.test.ts');
  });

  it('has the lint rules that the table says', () => {
    expect(checkLintRules(tree.get('biome.json') ?? '')).toEqual([]);
  });
});

describe('each rule can fail', () => {
  it('sees imports of every form, and none in comments', () => {
    const forms = `import a from 'a';\nimport type { B } from 'b';\nexport * from "c";\nimport 'd';\nconst e = await import('e');
      let f: typeof import('f');\nimport {\n  g,\n} from '@g/g/sub.js';\n// import 'no';\n/* from 'no' */\nTime.from('no');\n`;
    expect(importsOf(forms).sort()).toEqual(['@g/g/sub.js', 'a', 'b', 'c', 'd', 'e', 'f']);
  });

  it.each([
    ['packages/workflow/src/a.ts', `import { readFile } from 'node:fs/promises';`],
    ['packages/workflow/src/a.ts', `import { Worker } from 'node:worker_threads';`],
    ['packages/core/src/a.ts', `import express from 'express';`],
    ['packages/core/src/a.ts', `import { TRPCError } from '@trpc/server';`],
    ['packages/core/src/a.ts', `import type { Job } from 'bullmq';`],
    ['packages/api/src/a.ts', `import { eq } from 'drizzle-orm';`],
    ['packages/api/src/a.ts', `import { openDatabase } from '@belay/db';`],
    ['packages/db/src/a.ts', `import { can } from '@belay/core';`],
    ['packages/worker/src/a.ts', `import { eq } from 'drizzle-orm/pg-core';`],
    ['packages/sdk/src/a.ts', `export type { AppRouter } from '@belay/api';`],
    ['packages/core/src/a.ts', `import { tables } from '@belay/db/src/schema/index.js';`],
    ['packages/core/src/a.ts', `import { tables } from '../../db/src/schema/index.js';`],
    ['apps/cli/src/a.ts', `const core = await import('@belay/core');`],
  ])('imports: %s, %s', (path, text) => {
    expect(checkImports(broken({ [path]: text }))).toHaveLength(1);
  });

  it.each([
    ['packages/workflow/src/expression/thread.ts', `import { Worker } from 'node:worker_threads';`],
    ['packages/core/src/a.ts', `import { integer } from 'drizzle-orm/pg-core';\nimport { b } from './b.js';`],
    ['packages/server/src/a.ts', `import { readFile } from 'node:fs/promises';`],
    ['apps/cli/src/load-operator.ts', `const core = await import('@belay/core');`],
  ])('imports: %s, %s is fine', (path, text) => {
    expect(checkImports(broken({ [path]: text }))).toEqual([]);
  });

  it('dependencies of ours: a layer turned upside down, a package without a row', () => {
    const fault = broken({
      'packages/db/package.json': { dependencies: { '@belay/core': '*' } },
      'packages/stray/package.json': {},
    });
    expect(checkWorkspaceDependencies(fault)).toEqual([
      'packages/db may not depend on @belay/core',
      'packages/stray has no row in test/architecture/boundaries.mjs',
    ]);
  });

  it('declarations: imported and not declared, declared and not imported, in tests too', () => {
    const fault = broken({
      'package.json': { devDependencies: { vitest: '1.0.0' } },
      'packages/db/package.json': { dependencies: { postgres: '*', zod: '*' } },
      'packages/db/src/a.ts': `import postgres from 'postgres';\nimport { sql } from 'drizzle-orm';`,
      'packages/db/test/a.test.ts': `import { it } from 'vitest';\nimport left from 'left-pad';`,
    });
    expect(checkDeclarations(fault)).toEqual([
      'packages/db/package.json does not declare drizzle-orm, which packages/db/src/a.ts imports',
      'no package.json declares left-pad, which packages/db/test/a.test.ts imports',
      'packages/db declares zod and does not import it',
    ]);
  });

  it('exports: none, another condition first, everything, and an import past them', () => {
    const fault = broken({
      'packages/a/package.json': {},
      'packages/b/package.json': { exports: { '.': { default: './dist/index.js' } } },
      'packages/c/package.json': { exports: { './*': conditions } },
      'packages/d/package.json': { exports: { '.': conditions } },
      'packages/d/test/a.test.ts': `import { secret } from '@belay/d/src/secret.js';\nimport { open } from '@belay/d';`,
    });
    expect(checkExports(fault)).toHaveLength(4);
  });

  it('apps: a package that another app imports, and the sources and the tests of one', () => {
    const fault = broken({
      'apps/a/package.json': { name: '@belay/a' },
      'apps/a/test/a.test.ts': `import { b } from './support/b.js';\nimport { c } from '../src/c.js';`,
      'apps/b/package.json': { name: '@belay/b' },
      'apps/b/src/main.ts': `const a = await import('@belay/a');\nimport { d } from '@belay/d';`,
      'apps/b/test/b.test.ts': `import { b } from '../../a/test/support/b.js';`,
      'packages/d/test/d.test.ts': `import type { C } from '../../../apps/a/src/c.js';`,
    });
    expect(checkApps(fault)).toEqual([
      'apps/b/src/main.ts imports an app: @belay/a',
      'apps/b/test/b.test.ts imports an app: ../../a/test/support/b.js',
      'packages/d/test/d.test.ts imports an app: ../../../apps/a/src/c.js',
    ]);
  });

  it('circles: of two files by a type, of three by a door, of one', () => {
    const fault = broken({
      'packages/a/package.json': { exports: { '.': conditions } },
      'packages/a/src/index.ts': `export { b } from './b.js';`,
      'packages/a/src/b.ts': `import type { C } from './c.js';`,
      'packages/a/src/c.ts': `import { b } from '@belay/a';`,
      'packages/b/src/a.ts': `import { b } from './b.js';`,
      'packages/b/src/b.ts': `import type { A } from './a.js';\nimport { c } from './c.js';`,
      'packages/b/src/c.ts': `import { d } from '../d.js';`,
      'packages/b/test/a.ts': `const self = await import('./a.js');`,
    });
    expect(checkCircles(fault)).toHaveLength(3);
  });

  it('folders: an import that goes up, of a type too, and a folder without a place', () => {
    const fault = broken({
      'packages/core/src/text.ts': `import type { Plan } from './plans/plan.js';`,
      'packages/core/src/plans/plan.ts': `import { text } from '../text.js';\nexport { grant } from '../functions/grant.js';`,
      'packages/core/src/functions/grant.ts': `import { plan } from '../plans/plan.js';`,
      'packages/core/src/stray/a.ts': '',
    });
    expect(checkFolders(fault)).toEqual([
      'packages/core/src/text.ts imports upward: plans/plan.ts',
      'packages/core/src/plans/plan.ts imports upward: functions/grant.ts',
      'packages/core/src/stray/a.ts is in a folder without a place in test/architecture/boundaries.mjs',
    ]);
  });

  it('names: a door that exports everything of a file, and a name that is not used', () => {
    const fault = broken({
      'packages/core/package.json': { exports: { '.': conditions, './more': { '@belay/source': './src/more.ts' } } },
      'packages/core/src/index.ts': `export * from './a.js';\nexport { b, type C } from './b.js';`,
      'packages/core/src/more.ts': `export { b } from './b.js';`,
      'packages/api/src/a.ts': `import { b } from '@belay/core';`,
      'packages/sdk/package.json': { exports: { '.': conditions } },
      'packages/sdk/src/index.ts': `export * from './a.js';\nexport { b } from './b.js';`,
    });
    expect(checkNames(fault)).toEqual([
      'packages/core/src/index.ts exports everything of a file',
      'packages/core/src/index.ts exports C, which no other package uses',
      'packages/core/src/more.ts exports b, which no other package uses',
      'packages/sdk/src/index.ts exports everything of a file',
    ]);
  });

  it('shapes: a door that exports a name of contract, by itself and by way of a file', () => {
    const fault = broken({
      'packages/contract/src/roles.ts': 'export const role = 1;\nexport type Role = string;\nexport interface Page {}',
      'packages/core/package.json': { exports: { '.': conditions, './more': { '@belay/source': './src/more.ts' } } },
      'packages/core/src/index.ts': `export { type Role, list } from './list.js';`,
      'packages/core/src/more.ts': `export * from './pages.js';`,
      'packages/core/src/pages.ts': 'export interface Page {}',
      'packages/sdk/package.json': { exports: { '.': conditions } },
      'packages/sdk/src/index.ts': `export type { Role } from '@belay/contract/roles';`,
    });
    expect(checkShapes(fault)).toEqual([
      "packages/core/src/index.ts exports Role, which is packages/contract/src/roles.ts's",
      "packages/core/src/more.ts exports Page, which is packages/contract/src/roles.ts's",
    ]);
  });

  it('lint rules: an import allowed by hand', () => {
    const configuration = (tree.get('biome.json') ?? '').replace('"!drizzle-orm"', '"!drizzle-orm", "!express"');
    expect(checkLintRules(configuration)).toHaveLength(1);
  });

  it('texts of pages: one that stands in the markup', () => {
    const page = (content: string) => `export const Page = () => <p>${content}</p>;\n`;
    expect(lint('packages/console/src/pages/some.tsx', page('Some text'))).toContain('noJsxLiterals');
    expect(lint('packages/agent/src/some.tsx', page('Some text'))).toContain('noJsxLiterals');
    expect(lint('packages/console/src/pages/some.tsx', page('{texts.some}'))).toMatch(/^Checked 2 files in [^\n]*\n$/);
  });

  it('authorizers: a workflow function that grants by itself', () => {
    const call = 'await client.authorizer.ensurePresent(reference, until, signal);';
    expect(checkAuthorizerCalls(broken({ 'packages/core/src/functions/grant.ts': call }))).toHaveLength(1);
    expect(checkAuthorizerCalls(broken({ 'packages/core/src/access/reconcile.ts': call }))).toEqual([]);
    expect(checkAuthorizerCalls(broken({ 'packages/worker/src/sweeper.ts': `// ${call}` }))).toEqual([]);
  });

  it('people: an address that is compared, in JavaScript and in SQL, and a listed file without one', () => {
    for (const text of [
      'isSameAddress(user.email, other)',
      'sql`lower(${users.email}) = 1`',
      'user.email === other.email',
    ]) {
      expect(checkPeople(broken({ 'packages/core/src/approvals/decide.ts': text }))).toHaveLength(1);
      expect(checkPeople(broken({ 'packages/core/src/people/certain.ts': text }))).toEqual([]);
    }
    expect(checkPeople(broken({ 'packages/core/src/users/list.ts': 'export {}' }))).toHaveLength(1);
  });

  it('ledger: a transaction without an entry, and a listed file without a transaction', () => {
    const silent = 'await ctx.db.transaction(async (tx) => { await tx.delete(grants); });';
    expect(checkTransactions(broken({ 'packages/core/src/access/end.ts': silent }))).toHaveLength(1);
    expect(checkTransactions(broken({ 'packages/engine/src/steps/advance.ts': 'export {}' }))).toHaveLength(1);
    const told = broken({
      'packages/core/src/logins/create.ts': 'export async function createLogin(tx) { await appendLedger(tx, []); }',
      'packages/core/src/logins/complete.ts': 'await db.transaction(async (tx) => createLogin(tx));',
    });
    expect(checkTransactions(told)).toEqual([]);
  });

  it('order: Promise.all beside a transaction, and a listed file that has none', () => {
    const mixed = 'await ctx.db.transaction((tx) => Promise.all([tx.select(), tx.delete(grants)]));';
    expect(checkOrder(broken({ 'packages/core/src/access/end.ts': mixed }))).toHaveLength(1);
    expect(checkOrder(broken({ 'packages/core/src/access/intend.ts': 'export {}' }))).toHaveLength(1);
    const ordered = 'await ctx.db.transaction((tx) => inOrder([tx.select(), tx.delete(grants)]));';
    expect(checkOrder(broken({ 'packages/core/src/access/end.ts': ordered }))).toEqual([]);
  });

  it.each([
    'const now = Date.now();',
    'const now = new Date();',
    'const started = performance.now();',
    'const pick = Math.random();',
    `import { createHash, randomUUID } from 'node:crypto';`,
    `import { randomBytes } from 'node:crypto';`,
    'const id = crypto.randomUUID();',
    'const url = process.env.DATABASE_URL;',
    `import { env } from 'node:process';`,
  ])('purity: %s', (text) => {
    expect(checkPurity(broken({ 'packages/core/src/a.ts': text }))).toHaveLength(1);
  });

  it('purity: a time that was passed in is fine, and so is randomness that was', () => {
    const text = `const end = new Date(now.getTime() + lifetime);\nconst secret = ctx.randomBytes(32);\n// not Date.now()`;
    expect(checkPurity(broken({ 'packages/core/src/a.ts': text }))).toEqual([]);
    expect(checkPurity(broken({ 'packages/program/src/machine.ts': 'export {}' }))).toHaveLength(1);
  });

  it('signals: one that is joined with a timeout', () => {
    const text = 'const signal = AbortSignal.any([given, AbortSignal.timeout(5)]);';
    expect(checkSignals(broken({ 'packages/core/src/a.ts': text }))).toHaveLength(1);
    expect(checkSignals(broken({ 'packages/providers/src/within.ts': text }))).toEqual([]);
  });

  it('small files: one that a single file imports, and a list without need', () => {
    const fault = broken({
      'packages/a/package.json': { exports: { '.': conditions, './b': { '@belay/source': './src/b.ts' } } },
      'packages/a/src/index.ts': `export { c } from './c.js';`,
      'packages/a/src/b.ts': '',
      'packages/a/src/c.ts': `import { b } from './b.js';\nimport { d } from './d.js';\nconst { e } = await import('./e.js');`,
      'packages/a/src/d.ts': '',
      'packages/a/src/e.ts': `import { f } from './f.js';`,
      'packages/a/src/f.ts': '',
      'packages/a/src/g.ts': `import { f } from './f.js';`,
      'packages/a/src/h.ts': `import { i } from './i.js';${'\n'.repeat(241)}end();`,
      'packages/a/src/i.ts': `${'\n'.repeat(8)}end();`,
      'packages/a/test/d.test.ts': `import { d } from '../src/d.js';`,
      'packages/api/src/roots.ts': '',
    });
    expect(checkSmallFiles(fault)).toEqual([
      'packages/a/src/d.ts has 1 lines, and only packages/a/src/c.ts imports it; join them',
      'packages/api/src/roots.ts is listed without need: no small file stays apart from it',
    ]);
  });

  it('says which package has no README, or one that is a guide', () => {
    const [packages, long] = [['packages/a', 'apps/b', 'packages/c'], '# C\n'.repeat(51)];
    const manifests = Object.fromEntries(packages.map((folder) => [`${folder}/package.json`, {}]));
    const fault = broken({ ...manifests, 'apps/b/README.md': '# B\n'.repeat(50), 'packages/c/README.md': long });
    expect(checkReadmes(fault)).toEqual([
      'packages/a has no README.md',
      'packages/c/README.md has 51 lines: more than 50 are a guide',
    ]);
  });

  it('length: a source of more than 400 lines, a test of more than 600', () => {
    const lines = (count: number) => 'x();\n'.repeat(count);
    const fault = broken({ 'packages/a/src/a.ts': lines(401), 'packages/a/test/a.test.ts': lines(601) });
    expect(checkLength(fault)).toHaveLength(2);
    expect(checkLength(broken({ 'packages/a/src/a.ts': lines(400), 'bench/test/b.ts': lines(600) }))).toEqual([]);
  });

  it('rejects six lines that stand twice, in two files or in one, and not imports or pairs that are allowed', () => {
    const body = (count: number) => Array.from({ length: count }, (_, line) => `call(${line});`).join('\n\n');
    const imports = Array.from({ length: 9 }, (_, line) => `import { a${line} } from './a.js';`).join('\n');
    const fault = broken({
      'packages/a/src/a.ts': `// one\n${body(6)}`,
      'packages/b/src/b.ts': `${imports}\n{\n${body(9).replaceAll('call', '  call')}\n}`,
      'packages/c/src/c.ts': `${imports}\n${body(6).replaceAll('call', 'other')}\nlast();\n${body(6).replaceAll('call', 'other')}`,
      'packages/d/src/d.ts': body(5),
      'packages/d/test/d.test.ts': body(9),
    });
    expect(checkRepetition(fault)).toEqual([
      'packages/b/src/b.ts:11 repeats packages/a/src/a.ts:2',
      'packages/c/src/c.ts:22 repeats packages/c/src/c.ts:10',
    ]);
    const words = { 'packages/console/src/pages/words.ts': body(9), 'packages/console/src/static/words.js': body(9) };
    expect(checkRepetition(broken(words))).toEqual([]);
  });

  it('pins: a range at the root, a version below it, one that is not pinned, one that is not used, a stale range of the SDK', () => {
    const fault = broken({
      'package.json': { devDependencies: { zod: '^4.0.0', pg: '8.0.0', unwanted: '1.0.0', eventsource: '4.1.1' } },
      'packages/worker/package.json': { dependencies: { zod: '*', pg: '8.0.0', lost: '*' } },
      'packages/sdk/package.json': { dependencies: { eventsource: '^4.2.0' } },
      'apps/server/package.json': { optionalDependencies: { '@p/x64': '1.0.0', '@p/arm64': '1.0.1' } },
    });
    expect(checkPins(fault)).toHaveLength(6);
  });

  it('locks: one that every user of a database can take', () => {
    const fault = broken({
      'packages/core/src/a.ts': 'tx.execute(sql`select pg_advisory_xact_lock(1)`)',
      'apps/server/src/b.ts': 'sql`select pg_try_advisory_lock_shared(1)`',
      'packages/db/src/c.ts': '// not pg_advisory_lock, which others can take',
    });
    expect(checkLocks(fault)).toHaveLength(2);
  });

  it.each([
    'await tx.update(steps).set({ dueAt: now });',
    'await ctx.db\n  .insert(executions)\n  .values(row);',
    'sql`delete from ${steps} where key = ${key}`',
    'sqlText`with gone as (update executions set status = ${status}) select 1`',
  ])('writers: %s', (text) => {
    expect(checkWriters(broken({ 'packages/core/src/a.ts': text }))).toHaveLength(1);
    expect(checkWriters(broken({ 'packages/engine/src/a.ts': text }))).toEqual([]);
  });

  it('tables: one without a comment', () => {
    const fault = broken({
      'packages/db/drizzle/0001.sql': `CREATE TABLE "grants" (id uuid);\nCREATE TABLE "users" (id uuid);`,
      'packages/db/drizzle/0002.sql': `COMMENT ON TABLE users IS 'A person, as a provider knows them.';`,
    });
    expect(checkTableComments(fault)).toEqual(['the table grants has no comment']);
  });

  it('documents: a link and a path to nowhere', () => {
    const fault = broken({
      'README.md':
        'See [the plan](docs/plan.md), [here](docs/here.md#part), [there](https://example.com), `packages/core/src/gone.ts`, `packages/core/{src,lib}/`.',
      'docs/here.md': '[up](../README.md) [down](decisions/0001.md)',
      'packages/core/src/index.ts': '',
    });
    expect(checkDocumentedPaths(fault)).toHaveLength(4);
  });

  it('links: a file and a heading that do not exist', () => {
    const fault = broken({
      'README.md':
        '[one](docs/a.md#2-two-words) [gone](docs/b.md) [folder](docs) [no heading](docs/a.md#three) [here](#none)',
      'docs/a.md': '# A\n\n## 2. Two words\n\n```\n## Three\n```\n[up](../README.md) [far](https://example.com#x)\n',
    });
    expect(checkLinks(fault)).toEqual([
      'README.md links docs/b.md: no such file',
      'README.md links docs/a.md#three: no such heading',
      'README.md links #none: no such heading',
    ]);
  });

  it('citations: what is not in the repository, a section, a rule and a decision that do not exist', () => {
    const documents = {
      'docs/a.md': '# A\n\n## 1. One\n\n1. First\n\n## 2. Two\n\n2. Second\n',
      'docs/decisions/0001-one.md': '',
    };
    const cited = (comment: string) => checkCitations(broken({ ...documents, 'packages/core/src/a.ts': comment }));
    for (const fine of [
      '/** (docs/a.md, section 1, rule 1; decision 0001) */',
      '// RFC 8252 §7.3',
      '/**\n * One (docs/a.md, section\n * 2). */',
      '/** docs/a.md, sections 1 and 2 */',
    ])
      expect(cited(fine), fine).toEqual([]);
    for (const wrong of [
      '// design §14',
      '// interface, rule 2',
      '// docs/b.md',
      '// docs/a.md, section 3',
      '// docs/a.md, sections 1 and 3',
      '/**\n * docs/a.md, section 1,\n * rule 2 */',
      '// decision 0002',
      '// docs/decisions/0002',
    ])
      expect(cited(wrong), wrong).toHaveLength(1);
  });

  it('decisions: a number that is there twice or missing, a wrong title, a replacement that is not listed, a wrong order', () => {
    const fault = broken({
      'docs/decisions/README.md': '- [0003](0003-c.md) C\n- [0001](0001-a.md) A\n- [0005](0005-e.md) F\n',
      'docs/decisions/0001-a.md': '# 0001 · A\n\n*Replaced by [0005](0005-e.md).*\n',
      'docs/decisions/0003-c.md': '# 0003 · C\n',
      'docs/decisions/0003-d.md': '# 0003 · D\n',
      'docs/decisions/0005-e.md': '# 0005 · E\n',
    });
    expect(checkDecisions(fault)).toEqual([
      'decision 0003 is there twice',
      'decision 0002 is missing',
      'decision 0004 is missing',
      'the list of decisions is not in the order of its numbers',
      '0001-a.md and the list of decisions do not agree by what it is replaced',
      'the list of decisions lacks "[0003](0003-d.md) D"',
      'the list of decisions lacks "[0005](0005-e.md) E"',
    ]);
  });

  it('interface: an operation that nothing declares', () => {
    const fault = broken({
      'docs/interface.md': '| `GET /a` | |\n| `POST /a`, `GET /b` | |\n',
      'packages/api/src/routers/a.ts':
        "openapi: { method: 'GET', path: '/a' }, openapi: {\n method: 'GET',\n path: '/b' }",
    });
    expect(checkInterface(fault)).toEqual(['docs/interface.md lists POST /a, which nothing declares']);
  });

  it('traces: a registry, a lock file that tells where from, a home folder', () => {
    const slash = '/';
    const fault = broken({
      '.npmrc': `registry=https://${['registry', 'npmjs', 'org'].join('.')}/`,
      'package-lock.json': `"${'resolved'}": "https://example.com/a.tgz"`,
      'docs/b.md': `look in ${slash}home/somebody/belay`,
    });
    expect(checkMachineTraces(fault)).toHaveLength(3);
  });
});
