import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

/** Every built-in module and package that a bundled module imports before it runs, by way of the modules that it imports. */
async function importedBy(path: string, seen = new Set<string>()): Promise<Set<string>> {
  const found = new Set<string>();
  if (seen.has(path)) return found;
  seen.add(path);
  const text = await readFile(path, 'utf8');
  for (const [, specifier = ''] of text.matchAll(/\b(?:from|import)\s*"([\w@./:-]+)"/g)) {
    if (!specifier.startsWith('.')) found.add(specifier);
    else
      for (const each of await importedBy(fileURLToPath(new URL(specifier, `file://${path}`)), seen)) found.add(each);
  }
  return found;
}

describe('the start of the command line', () => {
  it('loads no package, and no part of Node.js that help and completion do without', async () => {
    const imported = await importedBy(fileURLToPath(new URL('../bundle/main.js', import.meta.url)));
    // HTTP, cryptography and child processes are most of what such a start could cost.
    expect([...imported].sort()).toEqual([
      'node:fs',
      'node:fs/promises',
      'node:os',
      'node:path',
      'node:timers/promises',
      'node:url',
    ]);
  });
});
