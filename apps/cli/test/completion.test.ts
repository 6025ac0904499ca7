import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Belay, openBelay } from './support/belay.js';
import { hasProgram } from './support/has-program.js';
import { typeInto } from './support/pty.js';
import type { Terminal } from './support/run.js';

const main = fileURLToPath(new URL('../bundle/main.js', import.meta.url));
const run = promisify(execFile);

let belay: Belay;
let terminal: Terminal;
let folder: string;
let env: Record<string, string>;

const has = (shell: string) => hasProgram(shell, 'its completion was not tried');

beforeAll(async () => {
  belay = await openBelay();
  terminal = belay.terminal;
  folder = await mkdtemp(path.join(tmpdir(), 'belay-completion-'));
  // As installed: a program with this name on the PATH.
  const program = path.join(folder, 'belay');
  await writeFile(program, `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`);
  await chmod(program, 0o755);
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { stdout } = await terminal.run(['completion', shell]);
    await writeFile(path.join(folder, `belay.${shell}`), stdout);
  }
  env = {
    PATH: `${folder}:${process.env.PATH ?? ''}`,
    HOME: folder,
    BELAY_URL: belay.url,
    BELAY_TOKEN: belay.token,
    TERM: 'xterm',
  };
});
afterAll(async () => {
  await belay?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

async function completed(...words: string[]): Promise<string[]> {
  const { code, stdout } = await terminal.run(['__complete', ...words]);
  expect(code).toBe(0);
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split('\t')[0] ?? '');
}

describe('completion', () => {
  it('knows every command, group and option of the program itself', async () => {
    const commands = await completed('');
    const { stdout } = await terminal.run(['--help']);
    const listed = [...stdout.matchAll(/^ {2}([a-z]+)/gm)].map(([, name]) => name);
    expect(listed.length).toBeGreaterThan(15);
    expect(commands).toEqual(listed);
    expect(await completed('executions', 'w')).toEqual(['watch']);
    expect(await completed('request', '--d')).toEqual(['--duration', '--dry-run']);
    expect(await completed('access', '--w')).toEqual(['--watch']);
    expect(await completed('logs', '--level', '')).toEqual(['info', 'warning', 'error']);
    expect(await completed('completion', 'f')).toEqual(['fish']);
    expect(await completed('validate', '')).toEqual([':files']);
    expect(await completed('test', '')).toEqual([':files']);
    expect(await completed('plan', '')).toEqual([':files']);
    expect(await completed('no-such-command', '')).toEqual([]);
  });

  it('completes names from the server, and none when not signed in or unavailable', async () => {
    expect(await completed('request', '--role', '')).toEqual(['reader']);
    expect(await completed('roles', 'rea')).toEqual(['reader']);
    const id = await belay.request();
    expect(await completed('executions', 'show', id.slice(0, 4))).toEqual([id]);
    expect(await completed('approve', '')).toEqual([]);
    const adam = await belay.as('approver');
    const { approvals } = JSON.parse((await terminal.run(['inbox', '--json'], adam)).stdout) as {
      approvals: { id: string }[];
    };
    const { stdout } = await terminal.run(['__complete', 'approve', ''], adam);
    expect(stdout.split('\t')[0]).toBe(approvals[0]?.id);
    for (const shell of [{ token: undefined }, { server: 'http://127.0.0.1:1' }]) {
      expect(await terminal.run(['__complete', 'request', '--role', ''], shell)).toEqual({
        code: 0,
        stdout: '',
        stderr: '',
      });
    }
  });

  it('offers no name that a shell would run or misread', async () => {
    const hostile = [
      'report$(id)',
      'report`id`',
      'report;id',
      'report\nid',
      'report\u001b[2J',
      '--yes',
      ':files',
      '~',
      'a b',
    ];
    // No configuration allows such names, so put them into the response.
    belay.between.mangle = (procedure, data) => {
      if (procedure !== 'roles.list') return undefined;
      const { reader, ...rest } = data.roles as Record<string, { role: object }>;
      const named = (name: string) => [name, { role: { ...reader?.role, name } }];
      return { ...data, roles: { reader, ...rest, ...Object.fromEntries([...hostile, 'report.v2-x_1'].map(named)) } };
    };
    try {
      expect((await completed('request', '--role', '')).sort()).toEqual(['reader', 'report.v2-x_1']);
    } finally {
      belay.between.mangle = undefined;
    }
  });

  it('works in bash', async () => {
    if (!has('bash')) return;
    const complete = async (...words: string[]) => {
      const script = `source ${folder}/belay.bash
        COMP_WORDS=(belay "$@"); COMP_CWORD=$#; _belay
        complete -p belay >/dev/null && printf '%s\\n' "\${COMPREPLY[@]}"`;
      const { stdout, stderr } = await run('bash', ['-c', script, 'bash', ...words], { env });
      expect(stderr).toBe('');
      return stdout.trim().split('\n');
    };
    expect(await complete('who')).toEqual(['whoami']);
    expect(await complete('executions', '')).toEqual(expect.arrayContaining(['list', 'show', 'watch']));
    expect(await complete('request', '--role', '')).toEqual(['reader']);
    expect(await complete('validate', '')).toEqual(['']);
  });

  it('works in zsh', async () => {
    if (!has('zsh') || !hasProgram('python3', 'completion in zsh was not tried')) return;
    // zsh completes only in its line editor, so type a part of a name and a tab, and run the line.
    const typed = path.join(folder, 'typed');
    const setup = [
      'autoload -Uz compinit',
      'compinit -u',
      `source ${folder}/belay.zsh`,
      `belay() { if [[ $1 == __complete ]]; then command belay "$@"; else print -rl -- "$@" >> ${typed}; fi }`,
      'PS1="READY> "',
    ];
    // Type only when the line editor is active: earlier input is read as whole lines, without key bindings.
    await writeFile(path.join(folder, '.zshrc'), setup.join('\n'));
    await using shell = typeInto('zsh -d -i', { ...env, ZDOTDIR: folder });
    const complete = async (line: string, rest: string) => {
      await shell.sees('READY> ');
      shell.type(`${line}\t`);
      await shell.sees(rest);
      shell.type('\n');
    };
    await complete('belay whoa', 'mi');
    await complete('belay request --role rea', 'reader'.slice('rea'.length));
    const both = `whoami\nrequest\n--role\nreader\n`;
    await vi.waitFor(async () => expect(await readFile(typed, 'utf8')).toBe(both), { timeout: 30_000 });
  });

  it('works in fish', async () => {
    if (!has('fish')) return;
    const complete = async (line: string) => {
      const { stdout } = await run(
        'fish',
        ['--no-config', '-c', `source ${folder}/belay.fish; complete -C '${line}'`],
        {
          env,
        },
      );
      return stdout
        .trim()
        .split('\n')
        .map((each) => each.split('\t')[0]);
    };
    expect(await complete('belay who')).toEqual(['whoami']);
    expect(await complete('belay executions ')).toEqual(expect.arrayContaining(['list', 'show', 'watch']));
    expect(await complete('belay request --role ')).toEqual(['reader']);
  });
});
