import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { planConfiguration } from '../src/policy/plan-configuration.js';

const regulated = fileURLToPath(new URL('../../../examples/organisations/regulated/', import.meta.url));

describe('planConfiguration', () => {
  const folders: string[] = [];
  afterEach(async () => {
    for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
  });

  /** Returns a copy of the example with these replacements in its files. */
  async function copy(changes: [file: string, from: string | RegExp, to: string][]): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'belay-plan-'));
    folders.push(folder);
    await cp(regulated, folder, { recursive: true });
    for (const [file, from, to] of changes) {
      const text = await readFile(join(folder, file), 'utf8');
      expect(text.replace(from, to)).not.toBe(text);
      await writeFile(join(folder, file), text.replace(from, to));
    }
    return folder;
  }

  /** Compares the example with a copy that has these changes. */
  async function plan(changes: Parameters<typeof copy>[0]) {
    const found = await planConfiguration(await copy(changes), regulated, { variables: {} });
    if (!found.ok) throw new Error(found.messages.join('\n'));
    return found;
  }

  it('finds nothing where nothing changes', async () => {
    expect(await plan([['roles.yaml', '# Every request', '# Each request']])).toEqual({
      ok: true,
      roles: [],
      systems: [],
      past: null,
    });
  });

  it('names those who gain and lose a role', async () => {
    const { roles } = await plan([['roles.yaml', 'groups: [operations]', 'groups: [risk]']]);
    const way = 'approval by the group operations, then the group risk, for PT1H';
    const [workflow, no] = ['two-approvals', 'cannot be requested'];
    expect(roles).toEqual([
      {
        role: 'payments-read',
        change: 'changed',
        terms: [],
        people: [
          { who: 'the group operations', workflow, before: way, after: no },
          { who: 'the group risk', workflow, before: no, after: way },
        ],
      },
    ]);
  });

  it('names another approver, a second one, and a shorter time', async () => {
    const { roles } = await plan([
      [
        'workflows.yaml',
        'groups: [security]\n                  count: 1',
        'groups: [risk]\n                  count: 2',
      ],
      ['roles.yaml', 'default_duration: PT30M', 'default_duration: PT20M'],
    ]);
    expect(roles).toMatchObject([
      {
        role: 'break-glass',
        terms: [{ term: 'default duration', before: 'PT30M', after: 'PT20M' }, { term: 'workflows' }],
        people: [
          {
            who: 'the group operations',
            before: 'approval by the group security, for PT30M',
            after: 'approval by 2 of the group risk, for PT20M',
          },
        ],
      },
    ]);
  });

  it('does not miss access without approval', async () => {
    const { roles } = await plan([['workflows.yaml', /- approve:[\s\S]*?- tell:/, '- tell:']]);
    expect(roles).toMatchObject([{ role: 'break-glass', people: [{ after: 'no approval, for PT30M' }] }]);
  });

  it('names a role that is gone, and a system that moves', async () => {
    const { roles, systems } = await plan([
      ['roles.yaml', 'description: Operate the databases', 'enabled: false'],
      ['systems.yaml', 'people_base: ou=people', 'people_base: ou=staff'],
    ]);
    expect(roles).toMatchObject([
      {
        role: 'database-operators',
        change: 'removed',
        people: [{ who: 'the group operations', after: 'cannot be requested' }],
      },
    ]);
    expect(systems).toEqual([{ provider: 'directory', change: 'changed' }]);
  });

  it('names who loses a role, though its workflow reads the reason', async () => {
    const reading = '- approve:\n            if: \'${ .reason != "x" }\'\n            call';
    const before = await copy([['workflows.yaml', /- approve:\n {12}call/, reading]]);
    const after = await copy([
      ['workflows.yaml', /- approve:\n {12}call/, reading],
      ['roles.yaml', /(break-glass:[\s\S]*?)groups: \[operations\]/, '$1groups: [risk]'],
    ]);
    const found = await planConfiguration(after, before, { variables: {} });
    expect(found).toMatchObject({
      roles: [
        {
          role: 'break-glass',
          people: [
            { who: 'the group operations', after: 'cannot be requested' },
            { who: 'the group risk', before: 'cannot be requested', after: expect.stringMatching(/^not known/) },
          ],
        },
      ],
    });
  });

  it('says what it does not know', async () => {
    const { roles } = await plan([
      [
        'workflows.yaml',
        /- approve:\n {12}call/,
        '- check: { call: http, with: { method: get, endpoint: "https://on-call.example.com" } }\n        - approve:\n            call',
      ],
    ]);
    expect(roles).toMatchObject([{ role: 'break-glass', people: [{ after: expect.stringMatching(/^not known: /) }] }]);
  });

  it('rejects a configuration that would not start', async () => {
    const found = await planConfiguration(regulated, join(regulated, 'roles.yaml'), { variables: {} });
    expect(found.ok).toBe(false);
  });
});
