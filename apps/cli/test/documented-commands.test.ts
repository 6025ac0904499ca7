import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { transform } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { hasProgram } from './support/has-program.js';
import { type Installation, type Person, startInstallation } from './support/installation.js';
import { openTerminal } from './support/run.js';
import { findBelayCommands, readShellBlocks, root, type ShellBlock } from './support/shell-blocks.js';
import { untried } from './support/untried-blocks.js';

const withPython = hasProgram('python3', 'the guide’s Python was not run', false);
const here = hasProgram('curl', 'the shell blocks of the documentation were not run');
const blocks = await readShellBlocks();
const isUntried = ({ file, name }: ShellBlock) => untried[file]?.[name] !== undefined;

let installation: Installation;
let rita: Person;
let adam: Person;
/** The tokens that the first block of docs/guides/api.md creates. */
let tokens: { RITA: string; ADAM: string };

interface Session {
  cwd?: string;
  env?: Record<string, string>;
  /** The placeholders that a reader replaces, such as an address or the name of a system. */
  replace?: Record<string, string>;
  /** Commands that the shell runs after the block. */
  then?: string;
}

/** Runs a block as it is printed, in a shell in which `belay` is the built program; resolves to its output. */
async function runBlock({ text: printed }: ShellBlock, { cwd = root, env = {}, replace = {}, then = '' }: Session) {
  let script = printed;
  for (const [from, to] of Object.entries(replace)) {
    expect(script).toContain(from);
    script = script.replaceAll(from, to);
  }
  const child = spawn('sh', ['-eu', '-c', `${script}\n${then}`], {
    cwd,
    env: {
      PATH: `${path.join(installation.folder, 'bin')}:${process.env.PATH ?? ''}`,
      HOME: installation.folder,
      BELAY_DATA: path.join(installation.folder, 'data'),
      BELAY_AGENT: 'off',
      BELAY_URL: installation.url,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  expect(code, `${printed}\n${stderr}`).toBe(0);
  return stdout;
}

/** Makes an empty folder with links to the files that the reader of a guide has. */
async function openFolder(name: string, linked: readonly string[] = []) {
  const folder = path.join(installation.folder, name);
  await mkdir(folder);
  for (const each of linked) await symlink(path.join(root, each), path.join(folder, each));
  return folder;
}

const printedJson = (stdout: string) =>
  stdout.split(/(?<=\})\s*(?=\{)/).map((each) => JSON.parse(each) as Record<string, unknown>);

/** Returns the first code block in a language from a document. */
async function readProgram(file: string, language: string) {
  const document = await readFile(path.join(root, file), 'utf8');
  return new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'ms').exec(document)?.[1] ?? '';
}

/** Approves the next request of a person that waits for Adam. */
async function approveNext(email: string) {
  const id = await vi.waitFor(
    async () => {
      const ran = await adam.belay('inbox', '--requester', email, '--jq', '.approvals[0].id // error("none")');
      expect(ran).toMatchObject({ code: 0 });
      return ran.stdout.trim();
    },
    { timeout: 60_000, interval: 100 },
  );
  expect(await adam.belay('approve', id, '--yes')).toMatchObject({ code: 0 });
}

/** Runs the commands of the README's story as one reader, who signs in as two people; resolves to the request with active access. */
async function playStory(block: ShellBlock) {
  const reader = await installation.person();
  let execution = '';
  for (const line of block.text.trim().split('\n')) {
    const words = findBelayCommands(line)[0] ?? [];
    if (words[0] === 'approve') {
      await vi.waitFor(
        async () => expect((await reader.belay('inbox')).stdout).toContain('reporting-readonly'),
        60_000,
      );
      words.push('--yes');
    }
    const login = /# choose (\w+)/.exec(line)?.[1]?.toLowerCase();
    const ran = await (login === undefined
      ? reader.belay(...words.map((word) => (word === '<execution>' ? execution : word)))
      : reader.login(`${login}@example.com`));
    expect(ran, line).toMatchObject({ code: 0 });
    if (words[0] === 'request') execution = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(ran.stdout)?.[0] ?? '';
  }
  expect(await rita.belay('wait', execution)).toMatchObject({ code: 0 });
  return execution;
}

/** The setup and the expected result of each block. The order matters: the last blocks end what the first ones started. */
const runs: [file: string, name: string, run: (block: ShellBlock) => Promise<unknown>][] = [
  [
    'README.md',
    'API=http://127.0.0.1:8080/api/v1',
    async (block) => {
      const stdout = await runBlock(block, { replace: { 'http://127.0.0.1:8080': installation.url } });
      expect(printedJson(stdout)).toMatchObject([
        { roles: { 'reporting-readonly': {} } },
        { state: 'waiting_for_approval' },
        { approvals: [{ role: 'reporting-readonly' }] },
        { status: 'approved' },
        { state: 'active' },
        { access: [{ state: 'active' }] },
        { message: 'The access is given back' },
      ]);
    },
  ],
  [
    'docs/guides/api.md',
    'export BELAY_URL=http://127.0.0.1:8080',
    async (block) => {
      const cwd = await openFolder('api', ['node_modules']);
      const file = 'docs/guides/api.md';
      const { code } = await transform(await readProgram(file, 'ts'), { loader: 'ts' });
      await writeFile(path.join(cwd, 'elevate.mjs'), code);
      await writeFile(path.join(cwd, 'elevate.py'), await readProgram(file, 'python'));
      const replace = { 'http://127.0.0.1:8080': installation.url };
      const programs = ['node elevate.mjs', ...(withPython ? ['python3 elevate.py'] : [])];
      const stdout = await runBlock(block, { cwd, replace, then: [...programs, 'echo $RITA $ADAM'].join('\n') });
      const lines = stdout.trim().split('\n');
      expect(lines.slice(0, -1)).toEqual(programs.flatMap(() => ['active', 'ended']));
      const [RITA = '', ADAM = ''] = lines.at(-1)?.split(' ') ?? [];
      tokens = { RITA, ADAM };
    },
  ],
  [
    'docs/guides/api.md',
    'api() {',
    async (block) =>
      expect(printedJson(await runBlock(block, { env: tokens }))).toMatchObject([
        { state: 'waiting_for_approval' },
        { status: 'approved' },
        { state: 'active' },
        { message: 'The access is given back' },
        { state: 'ended' },
      ]),
  ],
  [
    'docs/guides/sdk.md',
    'export BELAY_TOKEN=$(npm run --silent belay -- token create --user rita@example.com --group engineers --ttl PT1H)',
    async (block) => {
      const guide = await readProgram('docs/guides/sdk.md', 'js');
      const folder = await openFolder('sdk', ['node_modules']);
      await writeFile(path.join(folder, 'reports.mjs'), guide);
      const program = `cd ${folder} && exec node reports.mjs`;
      const [stdout] = await Promise.all([runBlock(block, { then: program }), approveNext('rita@example.com')]);
      expect(stdout).toMatch(/completed \[ 'gone' \]\n$/);
    },
  ],
  ['README.md', 'npm run --silent belay -- login', playStory],
  [
    'docs/cli.md',
    'belay inbox --json id,role,reason',
    async (block) => {
      const stdout = await runBlock(block, {
        env: { BELAY_TOKEN: tokens.RITA },
      });
      expect(stdout).toMatch(/^\[\]\n[0-9a-f-]{36}\nreporting-readonly +active /);
    },
  ],
  [
    'docs/guides/natural-language.md',
    'curl -H "Authorization: Bearer $TOKEN" -H \'Content-Type: application/json\' \\',
    async (block) => {
      const env = { TOKEN: tokens.RITA, BELAY: installation.url };
      expect(printedJson(await runBlock(block, { env }))).toMatchObject([{ status: expect.any(String) }]);
    },
  ],
  [
    'docs/guides/agents.md',
    'curl -H \'content-type: application/json\' -d \'{"label": "belay on build-3"}\' https://belay.example.com/api/v1/auth/device/authorization',
    async (block) => {
      const replace = { 'https://belay.example.com': installation.url };
      expect(printedJson(await runBlock(block, { replace }))).toMatchObject([{ user_code: expect.any(String) }]);
    },
  ],
  [
    'docs/guides/agents.md',
    'belay agent enroll --name laptop --ttl PT1H',
    async (block) => expect(await runBlock(block, {})).toMatch(/^belay-agent\.\S+\n$/),
  ],
  [
    'docs/guides/operators.md',
    'belay agent enroll --name build-3 --ttl P90D',
    async (block) => expect(await runBlock(block, {})).toMatch(/^belay-agent\.\S+\n$/),
  ],
  [
    'docs/guides/operators.md',
    'belay token create --user deploy@example.com --group release --ttl PT8H --label "release pipeline"',
    async (block) => expect(await runBlock(block, {})).toMatch(/^\S{20,}\n$/),
  ],
  [
    'docs/guides/operators.md',
    'belay access revoke rita@example.com --reason "Laptop stolen"',
    async (block) => {
      const [first = '', second = ''] = block.text.split('\n');
      const story = shellBlock('README.md', 'npm run --silent belay -- login');
      const revoked = /^The access of 1 request/;
      // The first command revokes the access that the story before this one left.
      expect(await runBlock({ ...block, text: first }, {})).toMatch(revoked);
      const replace = { '<execution>': await playStory(story) };
      expect(await runBlock({ ...block, text: second }, { replace })).toMatch(revoked);
    },
  ],
  [
    'README.md',
    'npm run --silent belay -- init --idp oidc --system postgres --domain example.com',
    async (block) => {
      const cwd = await openFolder('first');
      const stdout = await runBlock(block, {
        cwd,
        replace: { 'npm run --silent belay --': 'belay' },
        then: 'ls -A config',
      });
      expect(stdout).toContain('sign-in.yaml');
    },
  ],
  [
    'docs/guides/operators.md',
    'mkdir -p config && cp examples/quickstart/belay.yaml config/',
    async (block) => {
      const cwd = await openFolder('operated', ['examples']);
      expect(await runBlock(block, { cwd, then: 'ls config' })).toBe('belay.yaml\n');
    },
  ],
  [
    'docs/guides/operators.md',
    'belay validate',
    async (block) => {
      const names = ['DEMO_OIDC_ISSUER', 'DEMO_OIDC_CLIENT_ID', 'DEMO_OIDC_CLIENT_SECRET', 'DEMO_POSTGRES_URL'];
      const values = ['http://127.0.0.1:9/oidc', 'belay', 'a-secret-of-the-demo', 'postgres://belay@127.0.0.1:9/demo'];
      const env = Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']));
      await runBlock(block, { cwd: path.join(installation.folder, 'operated'), env });
    },
  ],
  [
    'docs/guides/policy-tests.md',
    'belay test examples/organisations/regulated',
    async (block) => expect(await runBlock(block, {})).not.toBe(''),
  ],
  [
    'docs/guides/policy-tests.md',
    'belay plan examples/organisations/regulated --against examples/organisations/start-up',
    async (block) => {
      // Exit code 9 means that the plan has changes.
      const replace = { '/start-up': '/start-up || [ $? -eq 9 ]' };
      expect(await runBlock(block, { replace })).toContain('role **break-glass** added');
    },
  ],
  [
    'docs/guides/services.md',
    'belay vault set database#password < password.txt',
    async (block) => {
      const cwd = await openFolder('vault');
      await writeFile(path.join(cwd, 'password.txt'), 'a password\n');
      const env = { BELAY_DATA: path.join(cwd, 'data'), BELAY_SECRET: 'a secret of thirty-two characters and more' };
      expect(await runBlock(block, { cwd, env })).toContain('database');
    },
  ],
  [
    'docs/guides/operators.md',
    'belay user separate rita@example.com adam@example.com --reason "They shared the mailbox of their team"',
    async (block) => expect(await runBlock(block, {})).toContain('count as two people'),
  ],
  [
    'docs/guides/operators.md',
    'belay user stop rita@example.com --reason "Left the company"',
    async (block) => {
      await runBlock(block, {});
      expect(await rita.belay('whoami')).toMatchObject({ code: 3 });
    },
  ],
  [
    'docs/guides/backup.md',
    "belay restore begin --reason 'restored to 09:00 after the failure of the disk'",
    (block) => runBlock(block, {}),
  ],
  [
    'docs/guides/backup.md',
    'belay restore status',
    (block) =>
      vi.waitFor(async () => expect(await runBlock(block, {})).toContain('compared'), {
        timeout: 60_000,
        interval: 250,
      }),
  ],
  ['docs/guides/backup.md', 'belay restore open', (block) => runBlock(block, {})],
];

function shellBlock(file: string, name: string) {
  const found = blocks.find((block) => block.file === file && block.name === name);
  if (!found) throw new Error(`${file} has no block "${name}"`);
  return found;
}

describe('the shell blocks of the documentation', () => {
  it('are run by a test, or listed with the reason why not', () => {
    const isRun = ({ file, name }: ShellBlock) => runs.some((each) => each[0] === file && each[1] === name);
    expect(blocks.filter((block) => isRun(block) === isUntried(block))).toEqual([]);
    const listed = Object.entries(untried).flatMap(([file, names]) =>
      Object.keys(names).map((name) => ({ file, name })),
    );
    expect(listed.filter((each) => !blocks.some(({ file, name }) => file === each.file && name === each.name))).toEqual(
      [],
    );
  });

  it('name commands and options that there are', async () => {
    await using terminal = await openTerminal();
    const namesBelow = async (...words: string[]) =>
      (await terminal.run(['__complete', ...words])).stdout.split('\n').map((line) => line.split('\t')[0]);
    for (const { file, text: printed } of blocks) {
      for (const words of findBelayCommands(printed)) {
        const command: string[] = [];
        for (const word of words) {
          if (command.length === 2 || !(await namesBelow(...command, '')).includes(word)) break;
          command.push(word);
        }
        expect(command, `${file}: belay ${words.join(' ')}`).not.toEqual([]);
        const options = words.filter((word) => word.startsWith('--')).map((word) => word.split('=')[0]);
        const known = await namesBelow(...command, '--');
        expect(
          options.filter((option) => !known.includes(option)),
          `${file}: belay ${words.join(' ')}`,
        ).toEqual([]);
      }
    }
  });
});

// Each command is a process, so these tests are long; `npm run verify` runs them.
describe.runIf(here && process.env.BELAY_TESTS !== 'short')('run as it is printed', () => {
  beforeAll(async () => {
    installation = await startInstallation();
    const bin = path.join(installation.folder, 'bin');
    await mkdir(bin);
    const main = path.join(root, 'apps/cli/bundle/main.js');
    await writeFile(path.join(bin, 'belay'), `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`);
    await chmod(path.join(bin, 'belay'), 0o755);
    [rita, adam] = [await installation.person(), await installation.person()];
    await rita.login('rita@example.com');
    await adam.login('adam@example.com');
  });
  afterAll(() => installation[Symbol.asyncDispose]());

  it.each(runs)('%s: %s', async (file, name, run) => {
    await run(shellBlock(file, name));
  });
});
