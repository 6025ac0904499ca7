import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { idle, openTerminal, silent, type Terminal } from './support/run.js';

let terminal: Terminal;

beforeEach(async () => {
  terminal = await openTerminal();
});
afterEach(() => terminal[Symbol.asyncDispose]());

describe('operator commands', () => {
  it('print the token once, alone on stdout', async () => {
    const asked: unknown[] = [];
    const operator = {
      ...idle,
      start: async () => {},
      validate: async () => ({ ok: true, source: 'x', messages: [] }),
      createToken: async (wanted: unknown) => {
        asked.push(wanted);
        return { token: 'made-once', expires_at: '2030-01-01T00:00:00.000Z', user: { email: 'bot@example.com' } };
      },
      revokeAccess: async (wanted: unknown) => {
        asked.push(wanted);
        return { message: 'It ends now', executions: ['e-1'] };
      },
      enrollAgent: async (wanted: { name: string }) => {
        asked.push(wanted);
        return { credential: 'agent-once', expires_at: '2030-01-01T00:00:00.000Z', agent: { name: wanted.name } };
      },
    };
    const args = [
      'token',
      'create',
      '--user',
      'bot@example.com',
      '--ttl',
      'PT8H',
      '--group',
      'robots',
      '--label',
      'nightly',
    ];
    const { code, stdout, stderr } = await terminal.run(args, { operator });
    expect([code, stdout]).toEqual([0, 'made-once\n']);
    expect(stderr).not.toContain('made-once');
    expect(asked).toEqual([{ user: 'bot@example.com', ttl: 'PT8H', groups: ['robots'], label: 'nightly' }]);
    const enrolled = await terminal.run(['agent', 'enroll', '--name', 'build-3', '--ttl', 'P90D'], { operator });
    expect([enrolled.code, enrolled.stdout]).toEqual([0, 'agent-once\n']);
    expect(enrolled.stderr).not.toContain('agent-once');
    expect(asked.at(-1)).toEqual({ name: 'build-3', ttl: 'P90D' });
    expect((await terminal.run(['agent', 'enroll', '--name', 'build-3'], { operator })).code).not.toBe(0);
    expect(await terminal.run(['access', 'revoke', 'e-1', '--reason', 'an incident'], { operator })).toMatchObject({
      code: 0,
      stdout: 'It ends now\n',
    });
    expect(asked.at(-1)).toEqual({ of: 'e-1', reason: 'an incident' });
    expect((await terminal.run(['access', 'revoke', 'e-1'], { operator })).code).toBe(2);
  });

  it('keep a secret that comes from standard input, or from a question that does not show it', async () => {
    const kept: [string, string][] = [];
    const operator = {
      ...idle,
      setSecret: async (name: string, value: string) => {
        kept.push([name, value]);
        return { path: 'database', key: 'password' };
      },
      listSecrets: async () => [{ path: 'database', key: 'password' }],
      removeSecret: async (name: string) => name === 'database#password',
    };
    const name = 'database#password';
    const piped = await terminal.run(['vault', 'set', name], { operator, readInput: async () => 'from a pipe\n' });
    const prompts = { ...silent, secret: async () => 'typed' };
    const typed = await terminal.run(['vault', 'set', name], { operator, interactive: true, prompts });
    expect(kept).toEqual([
      [name, 'from a pipe'],
      [name, 'typed'],
    ]);
    for (const { code, stdout, stderr } of [piped, typed]) {
      expect(code).toBe(0);
      expect(stdout + stderr).not.toMatch(/from a pipe|typed/);
      expect(stdout).toContain('${vault:database#password}');
    }
    expect(await terminal.run(['vault'], { operator })).toMatchObject({
      stdout: 'database\tpassword\t${vault:database#password}\n',
    });
    expect(await terminal.run(['vault', 'remove', name], { operator })).toMatchObject({ code: 0 });
    expect(await terminal.run(['vault', 'remove', 'other#name'], { operator })).toMatchObject({ code: 5 });
  });

  it('say which key seals from now on', async () => {
    const rotated = { kid: 'k2', retired: 'k1', created_at: '2030-01-01T00:00:00.000Z' };
    const operator = { ...idle, rotateEncryption: async () => rotated };
    const { stdout } = await terminal.run(['encryption', 'rotate', '--json'], { operator });
    expect(JSON.parse(stdout)).toEqual(rotated);
  });

  it.each([
    ['token', 'create', '--user', 'bot@example.com', '--ttl', 'PT8H'],
    ['agent', 'enroll', '--name', 'build-3', '--ttl', 'P90D'],
    ['access', 'revoke', 'e-1', '--reason', 'an incident'],
    ['encryption', 'rotate'],
    ['vault', 'set', 'database#password'],
    ['vault', 'list'],
    ['vault', 'remove', 'database#password'],
    ['validate'],
    ['start'],
    ['agent', 'uninstall'],
    ['completion', 'bash'],
  ])('refuse --url, because they work on this machine: %s %s', async (...args) => {
    // `idle` throws when it is called: the refusal comes before anything is done.
    for (const option of ['--url', '--server']) {
      const { code, stdout, stderr } = await terminal.run([...args, option, 'https://belay.example.com']);
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toMatch(/^belay: --url: this command talks to no server/);
    }
    const [group = '', name = ''] = args;
    const help = await terminal.run(
      ['validate', 'start', 'completion'].includes(group) ? [group, '--help'] : [group, name, '--help'],
    );
    expect(help.stdout).not.toContain('--url');
  });
});
