#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { loadAgent } from './load-agent.js';
import { loadDiagnosis } from './load-diagnosis.js';
import { loadOperator } from './load-operator.js';
import { runCli } from './program.js';
import { createPrograms } from './run/start-program.js';
import { createTerminalPrompts } from './terminal-prompts.js';

/** The default address of an agent. */
const defaultAgent = 'http://127.0.0.1:8791';

const { argv, env, platform, stdin, stdout, stderr } = process;

/** Returns the name of the account for the audit log; its number where the machine has no account of this number, as in containers. */
function accountName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

/** Returns the home folder of the account; the root folder where neither `HOME` nor an account names one. */
function homeFolder(): string {
  try {
    return homedir();
  } catch {
    return path.parse(process.cwd()).root;
  }
}
const home = homeFolder();

/** Returns a variable; an empty one counts as not set. */
function variable(name: string): string | undefined {
  return env[name] || undefined;
}

// `belay … | head` closes standard output early, which is not an error.
for (const stream of [stdout, stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
}

const args = argv.slice(2);
const interrupt = new AbortController();
// A server, an agent and `belay run` end gracefully on their own; every other command ends at the first Ctrl-C.
const stays = args[0] === 'start' || (args[0] === 'agent' && args[1] === 'run') || args[0] === 'run';
const onInterrupt = () => interrupt.abort();
if (!stays) process.once('SIGINT', onInterrupt);

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

const host = {
  variables: env,
  nodeVersion: process.version,
  platform,
  home,
  folder: process.cwd(),
  program: { node: process.execPath, script: fileURLToPath(import.meta.url) },
  userId: process.getuid?.(),
};

process.exitCode = await runCli(args, {
  version,
  stdout,
  stderr,
  interactive: stdin.isTTY === true && stdout.isTTY === true,
  colour: variable('NO_COLOR') === undefined && env.TERM !== 'dumb',
  animated: stderr.isTTY === true && env.TERM !== 'dumb' && variable('CI') === undefined,
  server: variable('BELAY_URL'),
  token: variable('BELAY_TOKEN'),
  agent: variable('BELAY_AGENT') === 'off' ? undefined : (variable('BELAY_AGENT') ?? defaultAgent),
  credentialsFile: path.join(variable('XDG_CONFIG_HOME') ?? path.join(home, '.config'), 'belay', 'credentials.json'),
  posix: platform !== 'win32',
  prompts: createTerminalPrompts(stdin, stderr),
  programs: createPrograms(process, env),
  loadJq: async () => {
    process.off('SIGINT', onInterrupt);
    return (await import('jq-web')).default;
  },
  readInput: async () => (await import('node:stream/consumers')).text(stdin),
  openBrowser: async (url) => (await import('./open-browser.js')).openBrowser(url, platform),
  // Loaded on demand: help and completion start faster without cryptography.
  randomBytes: (size) => process.getBuiltinModule('node:crypto').randomBytes(size),
  clock: () => new Date(),
  delay: (milliseconds, signal) => delay(milliseconds, undefined, { signal }),
  patience: 30_000,
  signal: interrupt.signal,
  operator: loadOperator(process, accountName),
  diagnosis: loadDiagnosis(host),
  agentControl: loadAgent(process),
  host,
});
