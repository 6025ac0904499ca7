import { once } from 'node:events';
import { chmod, mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openTerminal, type Terminal } from './support/run.js';

const token = 'a-secret-token-of-rita';
let terminal: Terminal;
const closing: (() => void)[] = [];

beforeEach(async () => {
  terminal = await openTerminal({ patience: 300, token });
});
afterEach(async () => {
  for (const close of closing.splice(0)) close();
  await terminal[Symbol.asyncDispose]();
});

async function listen(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const json = { 'content-type': 'application/json' };
const answers: [what: string, answer: RequestListener][] = [
  ['HTML', (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>\u001b[2JSign in</h1>')],
  ['nothing', (_, response) => response.writeHead(200, json).end()],
  ['another JSON', (_, response) => response.writeHead(200, json).end('[1,{"\u009b":null}]')],
  [
    'half an answer',
    (_, response) => void response.writeHead(200, { ...json, 'content-length': '999' }).write('{"result":{'),
  ],
  ['a broken connection', (request) => request.socket.destroy()],
];

describe('a server', () => {
  it.each(answers)('that sends %s fails the command with one harmless line, and no token', async (_, answer) => {
    const server = await listen(answer);
    for (const args of [['whoami'], ['inbox', '--jq', '.'], ['executions', '--template', '{{.}}']]) {
      const { code, stdout, stderr } = await terminal.run(args, { server });
      expect(code, args.join(' ')).not.toBe(0);
      expect(stdout).toBe('');
      expect(stderr.trim().split('\n')).toHaveLength(1);
      expect(stderr).not.toContain(token);
      expect(stderr.trim()).not.toMatch(/\p{Cc}/u);
    }
  });

  it('that redirects to another host never gets the token sent there', async () => {
    const heard: unknown[] = [];
    const other = await listen((request, response) => {
      heard.push(request.headers.authorization);
      response.writeHead(200, json).end('{}');
    });
    for (const status of [301, 302, 307, 308]) {
      const server = await listen((_, response) => response.writeHead(status, { location: `${other}/` }).end());
      const { code } = await terminal.run(['whoami'], { server });
      expect({ code, heard }).toEqual({ code: 7, heard: [] });
    }
  });
});

describe('a secret', () => {
  it('on the command line is rejected and not repeated', async () => {
    for (const args of [
      ['whoami', `--token=${token}`],
      ['login', token],
      ['roles', `--password=${token}`, '--json'],
    ]) {
      const { code, stderr } = await terminal.run(args);
      expect(code).toBe(2);
      expect(stderr).not.toContain(token);
    }
  });
});

describe('the credentials file', () => {
  it('is not used through a symbolic link to a file that others can read, which is left alone', async () => {
    const file = terminal.credentialsFile;
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
    const elsewhere = path.join(path.dirname(file), 'elsewhere.json');
    await writeFile(elsewhere, JSON.stringify({ version: 1, servers: { 'http://127.0.0.1:1': { token } } }));
    await chmod(elsewhere, 0o644);
    await symlink(elsewhere, file);
    const { code, stderr } = await terminal.run(['whoami'], { token: undefined, server: 'http://127.0.0.1:1' });
    expect(code).toBe(1);
    expect(stderr).toContain('is open to other users');
    expect((await stat(elsewhere)).mode & 0o777).toBe(0o644);
    expect(await readFile(elsewhere, 'utf8')).toContain(token);
  });
});
