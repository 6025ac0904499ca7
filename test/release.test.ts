import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { published } from '../pack/src/published.mjs';
import { readNotes } from '../pack/src/read-notes.mjs';

const readText = (file: string) => readFile(new URL(`../${file}`, import.meta.url), 'utf8');

describe('a release', () => {
  it('is called for by changesets that name published packages', async () => {
    const folders = published.map(({ folder }) => folder);
    const names = await Promise.all(
      folders.map(async (folder) => (JSON.parse(await readText(`${folder}/package.json`)) as { name: string }).name),
    );
    const files = (await readdir(new URL('../.changeset', import.meta.url))).filter((file) => file.endsWith('.md'));
    for (const file of files) {
      const [, front = ''] = (await readText(`.changeset/${file}`)).split('---\n');
      const bumps = Object.entries(parse(front) as Record<string, string>);
      expect(bumps.length, file).toBeGreaterThan(0);
      for (const [name, bump] of bumps) {
        expect(names, file).toContain(name);
        expect(['major', 'minor', 'patch'], file).toContain(bump);
      }
    }
  });

  it('is published with provenance, tagged, and only after its tarballs were checked', async () => {
    const workflow = parse(await readText('.github/workflows/release.yml')) as {
      jobs: { publish: { permissions: object; steps: { run?: string }[] } };
    };
    const { permissions, steps } = workflow.jobs.publish;
    expect(permissions).toEqual({ contents: 'write', 'id-token': 'write' });
    const commands = steps.flatMap(({ run }) => run ?? []).join('\n');
    expect(commands).toMatch(/npm run release -- pack\n[\s\S]*npm@\S+ publish .* --provenance[\s\S]*gh release create/);
  });

  it('has the notes of its version, and none before it was prepared', async () => {
    const changelog = await readText('CHANGELOG.md');
    const prepared = changelog.replace('## [Unreleased]\n', '## [Unreleased]\n\n## [9.0.0] - 2030-01-01\n');
    expect(readNotes(prepared, '9.0.0')).toMatch(/^### /);
    expect(() => readNotes(changelog, '9.0.0')).toThrow('[9.0.0]');
  });
});
