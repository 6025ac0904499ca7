import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const require = createRequire(import.meta.url);
const entry = fileURLToPath(new URL('../dist/index.js', import.meta.url));

/** Returns what a built module imports, also dynamically; the build has removed the types. */
async function importsOf(path: string): Promise<string[]> {
  const text = await readFile(path, 'utf8');
  return [...text.matchAll(/\b(?:from\s+|import\s*\(\s*|import\s+)["']([^"']+)["']/g)].map(
    ([, specifier = '']) => specifier,
  );
}

/** Returns every external package that a program loads, from the imports of its own modules. */
async function packagesOf(start: string): Promise<{ packages: Set<string>; modules: Set<string> }> {
  const packages = new Set<string>();
  const modules = new Set<string>();
  const open = [start];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (modules.has(path)) continue;
    modules.add(path);
    for (const specifier of await importsOf(path)) {
      if (specifier.startsWith('.')) open.push(fileURLToPath(new URL(specifier, `file://${path}`)));
      else if (specifier.startsWith('@belay/')) open.push(await resolveOwn(specifier));
      else if (!specifier.startsWith('node:'))
        packages.add(
          specifier
            .split('/')
            .slice(0, specifier.startsWith('@') ? 2 : 1)
            .join('/'),
        );
    }
  }
  return { packages, modules };
}

/** Returns the built file of an entry point of one of our packages. */
async function resolveOwn(specifier: string): Promise<string> {
  const [scope = '', name = '', ...rest] = specifier.split('/');
  const manifest = require.resolve(`../../../node_modules/${scope}/${name}/package.json`);
  const { exports } = JSON.parse(await readFile(manifest, 'utf8')) as { exports: Record<string, { default: string }> };
  const door = exports[['.', ...rest].join('/')];
  return fileURLToPath(new URL(door?.default ?? '', `file://${manifest}`));
}

describe('what an agent loads', () => {
  it('is what it needs and nothing of the server’s: no database, queue, vendor or language model', async () => {
    const { packages, modules } = await packagesOf(entry);
    expect([...packages].sort()).toEqual([
      '@napi-rs/keyring',
      '@trpc/client',
      '@trpc/server',
      'eventsource',
      'jose',
      'negotiator',
      'pino',
      'preact',
      'preact-render-to-string',
      // Loaded by the first request of /metrics, not at the start.
      'prom-client',
      'zod',
    ]);
    const heavy = [...modules].filter((path) => /packages\/(core|db|engine|providers|worker|workflow)\//.test(path));
    expect(heavy).toEqual([]);
  });
});

describe('the bundle of an agent', () => {
  const folder = fileURLToPath(new URL('../bundle/', import.meta.url));

  it('names each package in it with its licence', async () => {
    const text = await readFile(join(folder, 'LICENSES.txt'), 'utf8');
    const named = text
      .split(`${'-'.repeat(80)}\n`)
      .map((part) => /^(\S+) \d\S* \(.+\)$/.exec(part.trim().split('\n')[0] ?? '')?.[1]);
    expect(named).toEqual(expect.arrayContaining(['@trpc/server', 'jose', 'pino', 'preact', 'zod']));
    expect(named.filter((name) => name === undefined)).toEqual([]);
    expect(
      named.filter((name) => /drizzle|postgres|bullmq|ioredis|express|aws|azure|google|^ai$/.test(name ?? '')),
    ).toEqual([]);
  });

  it('has source maps that lead to our sources', async () => {
    const maps = (await readdir(folder)).filter((name) => name.endsWith('.map'));
    const sources = await Promise.all(
      maps.map(
        async (name) => (JSON.parse(await readFile(join(folder, name), 'utf8')) as { sources: string[] }).sources,
      ),
    );
    const paths = sources.flat().map((source) => join(folder, source));
    expect(paths).toContain(fileURLToPath(new URL('../src/follow.ts', import.meta.url)));
    expect(paths.filter((path) => !path.includes('node_modules') && !existsSync(path))).toEqual([]);
  });
});
