// Plays the terminal's story against its own demo server and writes the output into docs/cli.md. All of it is real
// output; only addresses, paths and secrets are replaced or shortened. Run it with:
// `npm run build && node examples/terminal-story/demo.mjs`
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { signInAsPerson } from './browser.mjs';
import { openTerminal } from './terminal.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const document = path.join(root, 'docs', 'cli.md');
const program = path.join(root, 'apps', 'cli', 'bundle', 'main.js');
const demo = path.join(root, 'apps', 'demo', 'dist', 'main.js');
const folder = await mkdtemp(path.join(tmpdir(), 'belay-story-'));
const blocks = [];
let agentUrl = 'http://127.0.0.1:9';

/** A program with the name that people type. */
await mkdir(path.join(folder, 'bin'));
await writeFile(path.join(folder, 'bin', 'belay'), `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`, {
  mode: 0o755,
});

const server = await startServer();
try {
  await story();
  await writeStory();
} finally {
  server.child.kill('SIGTERM');
  await once(server.child, 'close');
  await rm(folder, { recursive: true, force: true });
}

async function startServer() {
  const child = spawn(process.execPath, [demo], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, PORT: '0', LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = await new Promise((resolve, reject) => {
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      said += text;
      const found = /ready at (http:\S+)/.exec(said)?.[1];
      if (found !== undefined) resolve(found);
    });
    child.once('close', () => reject(new Error(`the server did not start: ${said}`)));
  });
  return { child, url };
}

/** Returns the environment of a person with their own home folder. */
function homeOf(name) {
  return {
    PATH: `${path.join(folder, 'bin')}:${process.env.PATH}`,
    HOME: path.join(folder, name),
    TERM: 'xterm-256color',
    NO_COLOR: '1',
    BELAY_URL: server.url,
    BELAY_AGENT: 'http://127.0.0.1:9',
  };
}

function show(name, line, { code, text }) {
  blocks.push(
    ['```console', `${name}$ ${line}`, text, ...(code === 0 ? [] : [`(exit code ${code})`]), '```'].join('\n'),
  );
}

function say(text) {
  blocks.push(text);
}

/** Runs a line as a person, answers its prompts, and records it. */
async function run(name, line, answers = [], env = {}) {
  const terminal = openTerminal(line, { ...homeOf(name), ...env });
  for (const [question, keys] of answers) {
    await terminal.sees(question);
    terminal.type(keys);
  }
  const ended = await terminal.end();
  show(name, line, ended);
  return ended.text;
}

async function login(name) {
  await mkdir(path.join(folder, name));
  const line = 'belay login --no-browser';
  const terminal = openTerminal(line, homeOf(name));
  const [, address] = await terminal.sees(/Sign in at: (\S+)\r?\n/);
  await signInAsPerson(address, `${name}@example.com`);
  const { code, text } = await terminal.end();
  return { line, code, text: text.replace(/(Sign in at: \S+?)\?\S+/, '$1?…') };
}

async function story() {
  say('Rita signs in with her browser. `login` usually opens it; here it only prints the address.');
  const signedIn = await login('rita');
  show('rita', signedIn.line, signedIn);
  await login('adam');
  await run('rita', 'belay whoami');
  await run('rita', 'belay roles');

  say(
    'She describes what she needs in a sentence. The command shows how it understood the sentence before it sends anything.',
  );
  const sentence = 'belay request "read the reporting tables for 20 minutes, month end"';
  const asking = openTerminal(sentence, homeOf('rita'));
  await asking.sees(/Send this request\?/);
  asking.type('y');
  await asking.sees(/waiting for approval by/);
  say('While her terminal waits, Adam decides. He sees exactly what would be granted.');
  await run('adam', 'belay inbox');
  const { approvals } = await readJson('adam', 'belay inbox --json');
  await run('adam', `belay approve ${approvals[0].id}`, [[/Approve this request\?/, 'y']]);
  say('Rita’s command continues on its own and ends when the access is active.');
  show('rita', sentence, await asking.end());

  say('She lists her active access and gives it back early.');
  await run('rita', 'belay access');
  const execution = (await readJson('rita', 'belay access --json')).access[0].execution_id;
  await run('rita', `belay access return ${execution}`);
  await run('rita', `belay logs --execution ${execution} --limit 4`);

  say('Without arguments, `request` prompts step by step.');
  await run('rita', 'belay request --no-wait', [
    [/Which role/, '\r'],
    [/Duration\?/, '15m\r'],
    [/Reason\?/, 'the figures look wrong\r'],
    [/Request .*\?/, 'y'],
  ]);

  say('In a pipe, output is plain lines with tabs, and a command that needs a confirmation fails.');
  await run('rita', 'belay executions | cut -f 2,4');
  await run('rita', 'belay request "read the reporting tables" < /dev/null | cat');

  say(
    '`doctor` on the server’s machine. Each failure comes with a fix. At a PostgreSQL target it also names the roles that would be approved\nand not granted, with the `GRANT` that is missing.',
  );
  await run('rita', `cd ${folder} && belay doctor`);
  await run('rita', 'belay doctor | grep ^failed', [], { BELAY_URL: 'http://127.0.0.1:10', BELAY_SECRTE: 'x' });

  await agentStory();
}

async function agentStory() {
  say('The agent. An operator creates a one-time credential; the laptop reads it from standard input.');
  const enroll = 'belay agent enroll --name laptop --ttl PT1H';
  const made = await openTerminal(`cd ${folder} && ${enroll}`, homeOf('operator')).end();
  const [credential] = /belay-agent\.\S+/.exec(made.text);
  show('operator', enroll, { ...made, text: made.text.replace(credential, 'belay-agent.…') });
  await writeFile(path.join(folder, 'rita', 'credential'), credential, { mode: 0o600 });
  await run('rita', `belay agent join --url ${server.url} --name laptop < ~/credential | cat`);
  await run('rita', 'belay agent install --print | head -n 12');

  say('Here the agent runs without a service. Rita signs it in at the server, and it keeps the session.');
  const child = spawn(path.join(folder, 'bin', 'belay'), ['agent', 'run'], {
    env: { ...homeOf('rita'), PORT: '0', BELAY_KEYRING: 'off' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    agentUrl = await new Promise((resolve, reject) => {
      let said = '';
      child.stdout.setEncoding('utf8').on('data', (text) => {
        said += text;
        const found = /(http:\/\/127\.0\.0\.1:\d+)/.exec(said)?.[1];
        if (found !== undefined) resolve(found);
      });
      child.once('close', () => reject(new Error(`the agent did not start: ${said}`)));
    });
    const found = { BELAY_AGENT: agentUrl, BELAY_URL: '' };
    const line = 'belay login --agent --provider demo --no-browser';
    const terminal = openTerminal(line, { ...homeOf('rita'), ...found });
    const [, address] = await terminal.sees(/Sign in at: (\S+)\r?\n/);
    await signInAsPerson(address, 'rita@example.com');
    show('rita', line, await terminal.end());
    await run('rita', 'belay agent status', [], found);
    await run('rita', 'belay sessions', [], found);
  } finally {
    child.kill('SIGTERM');
    await once(child, 'close');
  }
}

async function readJson(name, line) {
  const { text } = await openTerminal(line, homeOf(name)).end();
  return JSON.parse(text);
}

async function writeStory() {
  const text = blocks
    .join('\n\n')
    .replaceAll(server.url, 'http://127.0.0.1:8080')
    .replaceAll(new URL(server.url).host, '127.0.0.1:8080')
    .replaceAll(agentUrl, 'http://127.0.0.1:8791')
    .replaceAll(path.join(folder, 'rita'), '~')
    .replaceAll(folder, '/srv/belay')
    .replaceAll(process.execPath, '/usr/bin/node')
    .replaceAll(program, '/opt/belay/apps/cli/bundle/main.js');
  const before = await readFile(document, 'utf8');
  const [begin, end] = ['<!-- the story begins -->', '<!-- the story ends -->'];
  const [head, rest] = before.split(begin);
  if (rest === undefined) throw new Error(`${document} has no place for the story`);
  await writeFile(document, `${head}${begin}\n\n${text}\n\n${end}${rest.split(end)[1]}`);
}
