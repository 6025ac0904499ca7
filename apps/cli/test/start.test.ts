import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';

/** The modules that a bundled module loads before it runs, through its imports. */
interface Loaded {
  files: Set<string>;
  /** Built-in modules, and packages that are not in the bundle. */
  imported: Set<string>;
  /** The workspaces and libraries that the bundled code comes from. */
  parts: Set<string>;
}

async function readLoaded(path: string, loaded: Loaded): Promise<Loaded> {
  if (loaded.files.has(path)) return loaded;
  loaded.files.add(path);
  const { sources } = JSON.parse(await readFile(`${path}.map`, 'utf8')) as { sources: string[] };
  for (const source of sources) {
    const [, part] = /(?:^|\/)((?:packages|node_modules)\/(?:@[^/]+\/)?[^/]+)/.exec(source) ?? [];
    loaded.parts.add(part ?? 'apps/cli');
  }
  const text = await readFile(path, 'utf8');
  for (const [, specifier = ''] of text.matchAll(/\b(?:from|import)\s*"([\w@./:-]+)"/g)) {
    if (!specifier.startsWith('.')) loaded.imported.add(specifier);
    else await readLoaded(fileURLToPath(new URL(specifier, `file://${path}`)), loaded);
  }
  return loaded;
}

let loaded: Loaded;
beforeAll(async () => {
  const main = fileURLToPath(new URL('../bundle/main.js', import.meta.url));
  loaded = await readLoaded(main, { files: new Set(), imported: new Set(), parts: new Set() });
});

describe('the start of the command line', () => {
  it('loads no package, and no part of Node.js that help and completion do without', () => {
    // HTTP, cryptography and child processes would be the most expensive imports.
    expect([...loaded.imported].sort()).toEqual([
      'node:fs',
      'node:fs/promises',
      'node:os',
      'node:path',
      'node:timers/promises',
      'node:url',
    ]);
  });

  it('loads no code but its own, the parser of command lines, and two small modules of the contract', () => {
    expect([...loaded.parts].sort()).toEqual(['apps/cli', 'node_modules/commander', 'packages/contract']);
  });

  it('reads no more than seven files', () => {
    // Each file adds a third of a millisecond to a start.
    expect(loaded.files.size).toBeLessThanOrEqual(7);
  });
});
