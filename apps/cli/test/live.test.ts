import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { explainNetwork } from '../src/explain-network.js';
import { type Belay, openBelay } from './support/belay.js';
import { findClosedPort } from './support/closed-port.js';
import { hasProgram } from './support/has-program.js';
import { screen, type Terminal } from './support/run.js';

let belay: Belay;
let terminal: Terminal;

beforeEach(async () => {
  belay = await openBelay();
  terminal = belay.terminal;
});
afterEach(() => belay[Symbol.asyncDispose]());

/** A shell in which waiting takes no time: `each` receives the number of waits so far, and can end the command. */
function passing(each: (times: number, end: () => void) => unknown) {
  const interrupt = new AbortController();
  let times = 0;
  return {
    signal: interrupt.signal,
    delay: async (_milliseconds: number, signal: AbortSignal) => {
      times += 1;
      await each(times, () => interrupt.abort());
      signal.throwIfAborted();
    },
  };
}

/** Reserves the sequence number of an entry, which a slow transaction uses later. */
async function takePlace(): Promise<string> {
  const [row] = await belay.world.database.sql`select nextval('ledger_seq_seq')::text as seq`;
  return row?.seq as string;
}

/** Writes an entry of Rita into the audit log. */
async function write(message: string, place?: string): Promise<void> {
  await belay.world.database.sql`
    insert into ledger (seq, type, level, message, actor, user_id)
    select ${place ?? (await takePlace())}, 'login.created', 'info', ${message},
      jsonb_build_object('kind', 'user', 'id', id, 'email', email), id from users where email = 'rita@example.test'`;
}

/** Returns the messages of the entries that were shown. */
const shown = (stdout: string) =>
  stdout
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { message: string }).message)
    .filter((message) => message.startsWith('entry '));

describe('logs', () => {
  it('are shown oldest first, a document a line with --json', async () => {
    await write('entry first');
    await write('entry second');
    expect(shown((await terminal.run(['logs', '--json'])).stdout)).toEqual(['entry first', 'entry second']);
  });

  it('with --follow shows each entry once, late ones too, until Ctrl-C', async () => {
    const place = await takePlace();
    await write('entry b');
    const world = passing(async (times, end) => {
      if (times === 1) {
        await write('entry late', place);
        await write('entry c');
      }
      if (times === 2) await write('entry d');
      if (times === 3) end();
    });
    const { code, stdout } = await terminal.run(['logs', '--follow', '--json'], world);
    expect(code).toBe(130);
    expect(shown(stdout)).toEqual(['entry b', 'entry late', 'entry c', 'entry d']);
  });

  it('with --follow outlives a server that is away for a while, and says so once', async () => {
    await write('entry before');
    const world = passing(async (times, end) => {
      belay.between.state = times <= 2 ? 'away' : 'there';
      if (times === 3) await write('entry after');
      if (times === 4) end();
    });
    const { code, stdout, stderr } = await terminal.run(['logs', '--follow'], world);
    expect(code).toBe(130);
    expect(stdout).toMatch(/entry before\n.*entry after\n$/);
    expect(stderr.match(/no response/g)).toHaveLength(1);
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
    const request = ['request', '--role', 'reader', '--reason', 'x', '--workflow', 'automatic'];
    await terminal.run(request, { stderr, stdout: screen(), animated: true });
    const drawn = stderr.text.split('\r\u001b[2K');
    expect(drawn.length).toBeGreaterThan(1);
    expect(Math.max(...drawn.filter((line) => !line.includes('\n')).map((line) => line.length))).toBeLessThan(30);
    const last = drawn.at(-1) ?? '';
    expect(last === '' || last.endsWith('\n')).toBe(true);
    const quiet = screen();
    await terminal.run(request, { stderr: quiet, animated: false });
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
    const { code, stderr } = await terminal.run(['executions', 'cancel', 'e-1'], { server: await findClosedPort() });
    expect(code).toBe(7);
    expect(stderr).toMatch(/^belay: .*connection refused: no server listens there \(ECONNREFUSED\).*belay doctor\)\n$/);
  });
});
