import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Operator, type Prompts, runCli, type Shell } from '../../src/index.js';

export interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

export interface Terminal extends AsyncDisposable {
  credentialsFile: string;
  run(args: string[], shell?: Partial<Shell>): Promise<Ran>;
}

function unasked(question: string): never {
  throw new Error(`an unexpected prompt: ${question}`);
}

/** Rejects every prompt: a test that expects one provides its own. */
export const silent: Prompts = { confirm: unasked, secret: unasked, select: unasked, text: unasked };

/** Loads jq with Node.js, not through the test runner. */
export const loadJq: Shell['loadJq'] = () => createRequire(import.meta.url)('jq-web');

const unavailable = () => Promise.reject(new Error('not in this test'));

/** Rejects every operation: a test that expects one provides its own. */
export const idle: Operator = {
  start: unavailable,
  validate: unavailable,
  testPolicies: unavailable,
  plan: unavailable,
  schema: unavailable,
  blueprints: unavailable,
  init: unavailable,
  createToken: unavailable,
  enrollAgent: unavailable,
  listTokens: unavailable,
  revokeToken: unavailable,
  stopUser: unavailable,
  separatePeople: unavailable,
  createScimToken: unavailable,
  listScimTokens: unavailable,
  revokeScimToken: unavailable,
  revokeAccess: unavailable,
  beginRestore: unavailable,
  readRestore: unavailable,
  answerLeftover: unavailable,
  skipProvider: unavailable,
  openRestore: unavailable,
  archiveLedger: unavailable,
  verifyArchives: unavailable,
  rotateEncryption: unavailable,
  setSecret: unavailable,
  listSecrets: unavailable,
  removeSecret: unavailable,
};

/** Opens a terminal to run commands in: with its own folder for credentials, and with the output kept. */
export async function openTerminal(settings: Partial<Shell> = {}): Promise<Terminal> {
  const folder = await mkdtemp(path.join(tmpdir(), 'belay-cli-'));
  const credentialsFile = path.join(folder, 'config', 'belay', 'credentials.json');
  return {
    credentialsFile,
    async run(args, shell = {}) {
      let stdout = '';
      let stderr = '';
      const code = await runCli(args, {
        version: '0.0.0-test',
        stdout: { write: (text) => void (stdout += text) },
        stderr: { write: (text) => void (stderr += text) },
        interactive: false,
        colour: true,
        animated: false,
        agent: undefined,
        clock: () => new Date('2030-01-01T00:00:00.000Z'),
        delay: (milliseconds, signal) => delay(milliseconds, undefined, { signal }),
        server: undefined,
        token: undefined,
        credentialsFile,
        posix: true,
        prompts: silent,
        programs: { start: unasked, onSignal: () => () => {} },
        loadJq,
        readInput: unavailable,
        openBrowser: () => {},
        randomBytes,
        patience: 30_000,
        signal: new AbortController().signal,
        operator: idle,
        diagnosis: {
          environmentFaults: async () => [],
          localServer: async () => undefined,
          configuration: async () => undefined,
          database: async () => ({ kind: 'embedded', exists: false }),
        },
        agentControl: {
          run: unavailable,
          join: unavailable,
          status: async () => ({
            dataDirectory: path.join(folder, 'state'),
            pid: undefined,
            url: undefined,
            server: undefined,
            name: undefined,
            enrolled: false,
          }),
        },
        host: {
          variables: {},
          nodeVersion: process.version,
          platform: 'linux',
          home: folder,
          folder,
          program: { node: process.execPath, script: '/opt/belay/main.js' },
          userId: 1000,
        },
        ...settings,
        ...shell,
      });
      return { code, stdout, stderr };
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Returns a sink that claims to be a terminal and keeps what it received. */
export function screen(columns = 120): { write(text: string): void; isTTY: true; columns: number; text: string } {
  return {
    isTTY: true,
    columns,
    text: '',
    write(text) {
      this.text += text;
    },
  };
}
