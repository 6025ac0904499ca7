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
      validate: async () => ({ ok: true, source: 'x', messages: [], faults: [] }),
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

  it('create a SCIM token on standard output alone, list the valid ones, and revoke one by its id', async () => {
    const made = { token: 'belay-scim.secret', id: 's-1', provider: 'okta', expires_at: '2030-01-01T00:00:00.000Z' };
    const { token: _, ...shown } = { ...made, created_at: '2029-12-31T00:00:00.000Z' };
    const asked: unknown[] = [];
    const operator = {
      ...idle,
      createScimToken: async (wanted: unknown) => {
        asked.push(wanted);
        return made;
      },
      listScimTokens: async () => [shown],
      revokeScimToken: async (wanted: unknown) => {
        asked.push(wanted);
        return { message: 'The SCIM token of "okta" is revoked' };
      },
    };
    const created = await terminal.run(['scim', 'create-token', '--provider', 'okta', '--ttl', 'P1D'], { operator });
    expect([created.code, created.stdout]).toEqual([0, 'belay-scim.secret\n']);
    expect(created.stderr).toContain('s-1 for okta');
    const listed = await terminal.run(['scim', 'list-tokens'], { operator });
    expect(listed.stdout).toMatch(/^s-1\tokta\t2029-12-31T00:00:00\.000Z\t/);
    const revoked = await terminal.run(['scim', 'revoke-token', 's-1'], { operator });
    expect(revoked.stdout).toBe('The SCIM token of "okta" is revoked\n');
    expect(asked).toEqual([{ provider: 'okta', ttl: 'P1D' }, { id: 's-1' }]);
  });

  it('list tokens without their secrets, revoke one by its id, and stop a person with a reason', async () => {
    const asked: unknown[] = [];
    const token = {
      id: 't-1',
      user: { email: 'bot@example.com', name: 'Bot' },
      label: 'night\u202ely',
      created_at: '2029-12-31T00:00:00.000Z',
      expires_at: '2030-01-01T00:00:00.000Z',
    };
    const stopped = { message: 'rita@example.com is stopped', logins: 2, tokens: 1, requests: ['e-1'], access: [] };
    const operator = {
      ...idle,
      listTokens: async (wanted: unknown) => {
        asked.push(wanted);
        return [token];
      },
      revokeToken: async (wanted: { id: string }) => {
        asked.push(wanted);
        return { message: 'The token is revoked', id: wanted.id };
      },
      stopUser: async (wanted: unknown) => {
        asked.push(wanted);
        return stopped;
      },
    };
    const listed = await terminal.run(['token', 'list', '--user', 'bot@example.com'], { operator });
    expect(listed.stdout).toMatch(/^t-1\tbot@example\.com\tnight\\u\{202e\}ly\t2029-12-31T00:00:00\.000Z\t/);
    expect(JSON.parse((await terminal.run(['token', 'list', '--json'], { operator })).stdout)).toEqual({
      tokens: [token],
    });
    const revoked = await terminal.run(['token', 'revoke', 't-1'], { operator });
    expect([revoked.code, revoked.stdout]).toEqual([0, 'The token is revoked\n']);
    const args = ['user', 'stop', 'rita@example.com'];
    const done = await terminal.run([...args, '--reason', 'left', '--json'], { operator });
    expect([done.code, JSON.parse(done.stdout)]).toEqual([0, stopped]);
    expect(asked).toEqual([
      { user: 'bot@example.com' },
      {},
      { id: 't-1' },
      { user: 'rita@example.com', reason: 'left' },
    ]);
    expect((await terminal.run(args, { operator })).code).toBe(2);
  });

  it('separate two people by an address and an id, with a reason', async () => {
    const asked: unknown[] = [];
    const separated = { message: 'rita@example.com (u-1) and adam@example.com (u-2) count as two people' };
    const separatePeople = async (wanted: unknown) => {
      asked.push(wanted);
      return separated;
    };
    const operator = { ...idle, separatePeople };
    const args = ['user', 'separate', 'rita@example.com', 'u-2'];
    const done = await terminal.run([...args, '--reason', 'a shared mailbox', '--json'], { operator });
    expect([done.code, JSON.parse(done.stdout)]).toEqual([0, separated]);
    expect(asked).toEqual([{ user: 'rita@example.com', other: 'u-2', reason: 'a shared mailbox' }]);
    expect((await terminal.run(args, { operator })).code).toBe(2);
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

  it('write a new configuration, and say the next three commands', async () => {
    const asked: unknown[] = [];
    const operator = {
      ...idle,
      init: async (...given: unknown[]) => {
        asked.push(given);
        return ['sign-in.yaml'];
      },
      blueprints: async () => ({
        identityProviders: [{ name: 'okta', label: 'Okta' }],
        systems: [{ name: 'aws', label: 'AWS' }],
        messengers: [],
      }),
    };
    const flags = ['--idp', 'okta', '--system', 'aws', '--domain', 'example.com'];
    const { code, stdout } = await terminal.run(['init', "it's", ...flags, '--json'], { operator });
    const quoted = "'it'\\''s'";
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      {
        folder: "it's",
        files: ['sign-in.yaml'],
        next: [
          `cp ${quoted}/.env.example ${quoted}/.env   # and set the variables in it`,
          `set -a; . ${quoted}/.env; set +a; belay validate ${quoted}`,
          `BELAY_CONFIG=${quoted} belay start`,
        ],
      },
    ]);
    const beginning = { identityProvider: 'okta', system: 'aws', domain: 'example.com', messages: undefined };
    expect(asked).toEqual([["it's", beginning]]);
    const prompts = {
      ...silent,
      select: async (_: string, choices: { value: string }[]) => choices[0]?.value ?? '',
      text: async () => 'example.com',
    };
    expect((await terminal.run(['init'], { operator, prompts, interactive: true })).code).toBe(0);
    expect(asked.at(-1)).toEqual(['config', beginning]);
    const missing = await terminal.run(['init', '--idp', 'okta'], { operator });
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('name --idp, --system and --domain')]);
  });

  it('print the schema of configuration files as it is', async () => {
    const { code, stdout } = await terminal.run(['schema'], { operator: { ...idle, schema: async () => '{}\n' } });
    expect([code, stdout]).toEqual([0, '{}\n']);
  });

  it('say which key seals from now on', async () => {
    const rotated = { kid: 'k2', retired: 'k1', created_at: '2030-01-01T00:00:00.000Z' };
    const operator = { ...idle, rotateEncryption: async () => rotated };
    const { stdout } = await terminal.run(['encryption', 'rotate', '--json'], { operator });
    expect(JSON.parse(stdout)).toEqual(rotated);
  });

  it('show what a restore waits for, and pass on what the operator decides', async () => {
    const id = '0199a3c2-7b1e-7cc3-98c4-dc0c0c07398f';
    const status = {
      closed_since: '2030-01-01T00:00:00.000Z',
      reason: 'a drill',
      providers: [{ provider: 'github', status: 'failed' as const, note: 'The provider did not respond in time' }],
      leftovers: [
        {
          id,
          provider: 'github',
          identity: 'ada',
          access: { team: 'core' },
          mark: null,
          found_at: '2030-01-01T00:00:00.000Z',
        },
      ],
    };
    const given: unknown[] = [];
    const take = async (request: unknown) => {
      given.push(request);
      return { message: 'done' };
    };
    const operator = {
      ...idle,
      beginRestore: async (request: unknown) => take(request).then(() => ({ epoch: 1 })),
      readRestore: async () => status,
      answerLeftover: take,
      skipProvider: take,
      openRestore: async () => ({ message: 'Grants are permitted again' }),
    };
    const run = (...args: string[]) => terminal.run(['restore', ...args], { operator });
    expect((await run('begin', '--reason', 'a drill')).stdout).toBe('grants wait; revocations go on\n');
    const { stdout } = await run('status');
    expect(stdout).toContain('The provider did not respond in time');
    expect(stdout).toContain('{"team":"core"}');
    expect(JSON.parse((await run('status', '--json')).stdout)).toEqual(status);
    await run('revoke', id, '--reason', 'not ours');
    await run('keep', id, '--reason', 'standing');
    await run('skip', 'github', '--reason', 'gone');
    expect((await run('open')).stdout).toBe('Grants are permitted again\n');
    expect(given).toEqual([
      { reason: 'a drill' },
      { id, answer: 'revoke', reason: 'not ours' },
      { id, answer: 'keep', reason: 'standing' },
      { provider: 'github', reason: 'gone' },
    ]);
  });

  it('show which months of the ledger were archived, which wait, and whether archives are whole', async () => {
    const archived = [{ month: '2026-01', rows: 1234, sha256: 'd'.repeat(64), file: 'ledger-2026-01.dddd.ndjson.gz' }];
    const folders: string[] = [];
    let fault: string | null = null;
    const operator = {
      ...idle,
      archiveLedger: async (folder: string) => {
        folders.push(folder);
        return { archived, waiting: ['2026-02'] };
      },
      verifyArchives: async (folder: string) => {
        folders.push(folder);
        return [{ file: 'ledger-2026-01.dddd.ndjson.gz', month: '2026-01', rows: 1234, fault }];
      },
    };
    const run = (...args: string[]) => terminal.run(['ledger', ...args], { operator });
    const { stdout, stderr } = await run('archive', 'archives');
    expect(stdout).toContain('ledger-2026-01.dddd.ndjson.gz');
    expect(stderr).toContain('2026-02');
    expect(JSON.parse((await run('archive', 'archives', '--json')).stdout)).toEqual({ archived, waiting: ['2026-02'] });
    expect(await run('verify', 'archives')).toMatchObject({ code: 0, stdout: expect.stringContaining('whole') });
    fault = 'it has 3 of 4 lines';
    expect(await run('verify', 'archives')).toMatchObject({ code: 1, stdout: expect.stringContaining(fault) });
    expect(JSON.parse((await run('verify', 'archives', '--json')).stdout)).toMatchObject({ ok: false });
    expect(new Set(folders)).toEqual(new Set(['archives']));
  });

  it.each([
    ['token', 'create', '--user', 'bot@example.com', '--ttl', 'PT8H'],
    ['agent', 'enroll', '--name', 'build-3', '--ttl', 'P90D'],
    ['access', 'revoke', 'e-1', '--reason', 'an incident'],
    ['token', 'list'],
    ['token', 'revoke', 't-1'],
    ['user', 'stop', 'rita@example.com', '--reason', 'left'],
    ['scim', 'create-token', '--provider', 'okta', '--ttl', 'P180D'],
    ['scim', 'list-tokens'],
    ['scim', 'revoke-token', 't-1'],
    ['restore', 'begin', '--reason', 'a drill'],
    ['restore', 'status'],
    ['restore', 'open'],
    ['ledger', 'archive', 'archives'],
    ['ledger', 'verify', 'archives'],
    ['encryption', 'rotate'],
    ['vault', 'set', 'database#password'],
    ['vault', 'list'],
    ['vault', 'remove', 'database#password'],
    ['validate'],
    ['test'],
    ['plan', 'config', '--against', 'main'],
    ['start'],
    ['agent', 'uninstall'],
    ['completion', 'bash'],
  ])('reject --url, because they work on this machine: %s %s', async (...args) => {
    // Each operation of `idle` throws, so the rejection comes before any of them is called.
    for (const option of ['--url', '--server']) {
      const { code, stdout, stderr } = await terminal.run([...args, option, 'https://belay.example.com']);
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toMatch(/^belay: --url: this command works on this machine only/);
    }
    const [group = '', name = ''] = args;
    const help = await terminal.run(
      ['validate', 'test', 'plan', 'start', 'completion'].includes(group) ? [group, '--help'] : [group, name, '--help'],
    );
    expect(help.stdout).not.toContain('--url');
  });
});
