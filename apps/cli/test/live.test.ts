import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { explainNetwork } from '../src/explain-network.js';
import { hasProgram } from './support/has-program.js';
import { openTerminal, screen, type Terminal } from './support/run.js';
import { type Service, startService } from './support/service.js';

let service: Service;
let terminal: Terminal;

beforeEach(async () => {
  service = await startService();
  terminal = await openTerminal({ server: service.url, token: service.token });
});
afterEach(async () => {
  await terminal[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
});

/** A world in which waiting takes no time: `each` is told how often it was waited, and may end it. */
function passing(each: (times: number, end: () => void) => void) {
  const interrupt = new AbortController();
  let times = 0;
  return {
    signal: interrupt.signal,
    delay: async (_milliseconds: number, signal: AbortSignal) => {
      times += 1;
      each(times, () => interrupt.abort());
      signal.throwIfAborted();
    },
  };
}

const log = (seconds: number, message: string) => ({
  timestamp: `2030-01-01T00:00:${String(seconds).padStart(2, '0')}.000Z`,
  level: 'info',
  message,
  provider: '',
  user: 'ada@example.com',
  owner: 'ada@example.com',
  workflow_id: 'e-1',
  type: 'execution.started',
});

describe('logs', () => {
  it('are shown oldest first, a document a line with --json', async () => {
    service.state.logs = [log(2, 'second'), log(1, 'first')];
    const { stdout } = await terminal.run(['logs', '--json']);
    const lines = stdout.trim().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { message: string }).message)).toEqual(['first', 'second']);
  });

  it('with --follow shows each entry once, late ones too, until Ctrl-C', async () => {
    service.state.logs = [log(2, 'b')];
    const world = passing((times, end) => {
      if (times === 1) service.state.logs = [log(3, 'c'), log(2, 'b'), log(1, 'late')];
      if (times === 2) service.state.logs = [log(4, 'd'), log(3, 'c'), log(2, 'b'), log(1, 'late')];
      if (times === 3) end();
    });
    const { code, stdout } = await terminal.run(['logs', '--follow', '--json'], world);
    expect(code).toBe(130);
    const shown = stdout.trim().split('\n');
    expect(shown.map((line) => (JSON.parse(line) as { message: string }).message)).toEqual(['b', 'late', 'c', 'd']);
  });

  it('with --follow outlives a server that is away for a while, and says so once', async () => {
    service.state.logs = [log(1, 'before')];
    const world = passing((times, end) => {
      service.state.failWith = times <= 2 ? 'SERVICE_UNAVAILABLE' : undefined;
      if (times === 3) service.state.logs = [log(2, 'after'), log(1, 'before')];
      if (times === 4) end();
    });
    const { code, stdout, stderr } = await terminal.run(['logs', '--follow'], world);
    expect(code).toBe(130);
    expect(stdout).toMatch(/before\n.*after\n$/);
    expect(stderr.match(/as the test wants it/g)).toHaveLength(1);
  });

  it.each([
    [['--limit', '0']],
    [['--limit', 'many']],
    [['--since', 'yesterday']],
    [['--level', 'loud']],
    [['--until', '1h', '--follow']],
  ])('reject %j', async (args) => {
    expect(await terminal.run(['logs', ...args])).toMatchObject({ code: 2, stdout: '' });
  });
});

describe('access', () => {
  it('with --watch counts down in place, and only on a terminal', async () => {
    expect(await terminal.run(['access', 'list', '--watch'])).toMatchObject({ code: 2 });
    const stdout = screen();
    const world = passing((times, end) => times === 3 && end());
    const { code } = await terminal.run(['access', 'list', '--watch'], { ...world, stdout, animated: true });
    expect(code).toBe(130);
    expect(stdout.text.split('\u001b[1A\u001b[0J')).toHaveLength(3);
  });
});

describe('a line that moves', () => {
  it('is drawn on a terminal alone, cut to its width, and is gone in the end', async () => {
    const stderr = screen(30);
    await terminal.run(['request', '--role', 'r', '--reason', 'x'], { stderr, stdout: screen(), animated: true });
    const drawn = stderr.text.split('\r\u001b[2K');
    expect(drawn.length).toBeGreaterThan(1);
    expect(Math.max(...drawn.filter((line) => !line.includes('\n')).map((line) => line.length))).toBeLessThan(30);
    const last = drawn.at(-1) ?? '';
    expect(last === '' || last.endsWith('\n')).toBe(true);
    const quiet = screen();
    await terminal.run(['request', '--role', 'r', '--reason', 'x'], { stderr: quiet, animated: false });
    expect(quiet.text).not.toContain('\u001b');
  });
});

describe('why no answer came', () => {
  it.each([
    ['ECONNREFUSED', 'connection refused: no server listens there'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'NODE_EXTRA_CA_CERTS'],
    ['CERT_HAS_EXPIRED', 'clock is wrong'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'another name'],
    ['ENOTFOUND', 'the host name does not exist'],
  ])('%s is said in words', (code, words) => {
    const cause = Object.assign(new Error('connect'), { code });
    const error = new Error('no answer', { cause: new TypeError('fetch failed', { cause }) });
    expect(explainNetwork(error)).toContain(words);
    expect(explainNetwork(new AggregateError([cause]))).toContain(words);
    expect(explainNetwork(new Error('no answer'))).toBeUndefined();
  });

  it('explains an untrusted certificate with a fix, and sends nothing to its server', async () => {
    if (!hasProgram('openssl', 'a foreign certificate was not tried')) return;
    const folder = await mkdtemp(path.join(tmpdir(), 'belay-certificate-'));
    const [key, cert] = [path.join(folder, 'key.pem'), path.join(folder, 'cert.pem')];
    const made = spawnSync(
      'openssl',
      [
        'req',
        '-x509',
        '-newkey',
        'rsa:2048',
        '-nodes',
        '-days',
        '1',
        '-subj',
        '/CN=127.0.0.1',
        '-keyout',
        key,
        '-out',
        cert,
      ],
      { stdio: 'ignore' },
    );
    expect(made.status).toBe(0);
    let asked = 0;
    const server = createServer({ key: await readFile(key), cert: await readFile(cert) }, (_request, response) => {
      asked += 1;
      response.end('{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { code, stderr } = await terminal.run(['access', 'return', 'e-1'], { server: url });
    expect([code, asked]).toEqual([7, 0]);
    expect(stderr).toContain('NODE_EXTRA_CA_CERTS');
    server.close();
    await rm(folder, { recursive: true });
  });

  it('is on the one line of the failure', async () => {
    const gone = await startService();
    await gone[Symbol.asyncDispose]();
    const { code, stderr } = await terminal.run(['executions', 'cancel', 'e-1'], { server: gone.url });
    expect(code).toBe(7);
    expect(stderr).toMatch(/^belay: .*connection refused: no server listens there \(ECONNREFUSED\).*belay doctor\)\n$/);
  });
});
