import { randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createPage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import postgres from 'postgres';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CliError } from '../src/cli-error.js';
import { loadDiagnosis } from '../src/load-diagnosis.js';
import { type Belay, openBelay } from './support/belay.js';
import { findClosedPort } from './support/closed-port.js';
import { openTerminal, type Terminal } from './support/run.js';

interface Report {
  ok: boolean;
  checks: { check: string; status: string; message: string; cure?: string }[];
}

let belay: Belay;
let terminal: Terminal;
let folder: string;

beforeAll(async () => {
  belay = await openBelay();
});
afterAll(() => belay?.[Symbol.asyncDispose]());
beforeEach(async () => {
  const version = '0.1.0';
  terminal = await openTerminal({ server: belay.url, token: belay.token, clock: () => new Date(), version });
  folder = await mkdtemp(path.join(tmpdir(), 'belay-doctor-'));
});
afterEach(async () => {
  await terminal[Symbol.asyncDispose]();
  belay.between.mangle = undefined;
  await rm(folder, { recursive: true, force: true });
});

const secret = 'kQ7zR2mW9xL4vN8bT1cY6hJ3fD5gS0pA';

/** Runs `belay doctor` on a folder with its variables, with the real code. */
async function examine(variables: Record<string, string>): Promise<Report & { code: number; text: string }> {
  const host = {
    variables,
    nodeVersion: process.version,
    platform: process.platform,
    home: folder,
    folder,
    program: { node: process.execPath, script: '/opt/belay/main.js' },
    userId: process.getuid?.(),
  };
  const { code, stdout, stderr } = await terminal.run(['doctor', '--json'], { host, diagnosis: loadDiagnosis(host) });
  expect(stderr).toBe('');
  return { code, text: stdout, ...(JSON.parse(stdout) as Report) };
}

function of(report: Report, check: string): Report['checks'] {
  return report.checks.filter((each) => each.check === check);
}

describe('belay doctor', () => {
  it('reports no problem for a client of a healthy server, and skips the checks of a local server', async () => {
    const report = await examine({});
    expect([report.ok, report.code]).toEqual([true, 0]);
    for (const check of ['node', 'environment', 'server', 'health', 'clock', 'login']) {
      expect(of(report, check), check).toMatchObject([{ status: 'ok' }]);
    }
    expect(of(report, 'database')).toMatchObject([
      { status: 'skipped', message: 'no server is set up on this machine' },
    ]);
  });

  it('prints a fix for each failure and each warning', async () => {
    const timestamp = new Date(Date.now() + 3_600_000).toISOString();
    const answers: Record<string, object> = {
      'system.ready': { status: 'not ready', timestamp, version: '9.9.9' },
      'system.health': { services: { storage: 'unhealthy: away', scheduler: 'degraded: late' }, timestamp },
    };
    belay.between.mangle = (procedure, data) => ({ ...data, ...answers[procedure] });
    const report = await examine({ BELAY_SECRTE: 'x', BELAY_SECRET: 'change-me-change-me-change-me-change-me' });
    expect(report.code).toBe(1);
    expect(of(report, 'environment')).toMatchObject([{ status: 'warning', cure: 'did you mean BELAY_SECRET?' }]);
    expect(of(report, 'secret')).toMatchObject([{ status: 'failed' }]);
    expect(of(report, 'server').map(({ status }) => status)).toEqual(['failed', 'warning']);
    expect(of(report, 'health').map(({ status }) => status)).toEqual(['failed', 'warning']);
    expect(of(report, 'clock')).toMatchObject([
      { status: 'failed', message: expect.stringMatching(/1h behind|59m 59s behind|1h 1s behind/) },
    ]);
    for (const { status, cure } of report.checks) {
      if (status === 'failed' || status === 'warning') expect(cure).toMatch(/\w/);
    }
  });

  it('says why the server does not answer, and that a login is over', async () => {
    const gone = await terminal.run(['doctor', '--json'], { server: await findClosedPort() });
    expect(gone.code).toBe(1);
    expect(of(JSON.parse(gone.stdout) as Report, 'server')).toMatchObject([
      { status: 'failed', message: expect.stringContaining('connection refused: no server listens there') },
    ]);
    const over = await terminal.run(['doctor', '--json'], { token: 'long-over' });
    expect(of(JSON.parse(over.stdout) as Report, 'login')).toMatchObject([
      { status: 'failed', message: expect.stringContaining('BELAY_TOKEN') },
    ]);
    const nobody = await terminal.run(['doctor', '--json'], { token: undefined });
    expect(of(JSON.parse(nobody.stdout) as Report, 'login')).toMatchObject([{ status: 'warning' }]);
  });

  it('reports an invalid server address or credentials file once, with a fix', async () => {
    for (const [shell, said] of [
      [{ server: 'belay.example.com' }, 'is not a server address'],
      [{ server: undefined, token: undefined }, 'is not a valid credentials file'],
    ] as const) {
      await mkdir(path.dirname(terminal.credentialsFile), { recursive: true });
      await writeFile(terminal.credentialsFile, '{', { mode: 0o600 });
      const { code, stdout } = await terminal.run(['doctor', '--json'], shell);
      const { checks } = JSON.parse(stdout) as Report;
      expect(code).toBe(1);
      expect(of({ checks } as Report, 'server')).toMatchObject([
        { status: 'failed', message: expect.stringContaining(said) },
      ]);
      for (const name of ['health', 'clock', 'login']) {
        expect(of({ checks } as Report, name)).toMatchObject([{ status: 'skipped' }]);
      }
      expect(stdout).not.toContain('please report it');
    }
  });

  it('does not suggest to start a server when another program responds', async () => {
    const page = createPage((_request, response) => void response.writeHead(404).end('default backend'));
    await new Promise<void>((resolve) => page.listen(0, '127.0.0.1', resolve));
    const server = `http://127.0.0.1:${(page.address() as AddressInfo).port}`;
    const { stdout } = await terminal.run(['doctor', '--json'], { server });
    expect(of(JSON.parse(stdout) as Report, 'server')[0]?.cure).toMatch(/^correct that/);
    page.close();
  });

  it('sees credentials that others can read', async () => {
    await mkdir(path.dirname(terminal.credentialsFile), { recursive: true });
    await writeFile(terminal.credentialsFile, '{"version":1,"servers":{}}');
    await chmod(terminal.credentialsFile, 0o644);
    // Without a token, a login is read from this file: the server check fails then, and those that need its response are skipped.
    const { stdout } = await terminal.run(['doctor', '--json']);
    expect(of(JSON.parse(stdout) as Report, 'credentials')).toMatchObject([
      { status: 'failed', cure: expect.stringContaining('chmod 600') },
    ]);
  });

  it('looks at a server that is set up here: variables, folder, port, address, configuration, database, queue', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as AddressInfo;
    await writeFile(
      path.join(folder, 'belay.yaml'),
      'version: 1\nserver:\n  callbacks: [http://elsewhere.example/back]\nproviders:\n  target:\n    provider: postgres\n    config: { url: "postgres://u:hidden-password@127.0.0.1:1/d", identity: email }\n',
    );
    await mkdir(path.join(folder, 'data'));
    await writeFile(path.join(folder, 'data', 'secret'), 'x', { mode: 0o644 });
    const report = await examine({
      BELAY_DATA: path.join(folder, 'data'),
      BELAY_SECRET: secret,
      BELAY_BASE_URL: 'http://belay.example.com',
      PORT: String(port),
      DATABASE_URL: 'postgres://belay:hidden-password@127.0.0.1:1/belay',
      REDIS_URL: 'redis://:hidden-password@127.0.0.1:1',
    });
    taken.close();
    expect(of(report, 'secret')).toMatchObject([{ status: 'ok' }]);
    expect(of(report, 'data folder')).toMatchObject([{ status: 'failed', cure: expect.stringContaining('chmod 600') }]);
    expect(of(report, 'port')).toMatchObject([{ message: expect.stringContaining('another program') }]);
    expect(of(report, 'base URL')).toMatchObject([{ status: 'failed', cure: expect.stringContaining('https') }]);
    expect(of(report, 'configuration')).toMatchObject([{ status: 'ok' }]);
    expect(of(report, 'callbacks')).toMatchObject([{ status: 'warning' }]);
    expect(of(report, 'providers')).toMatchObject([{ status: 'failed', message: expect.stringContaining('target') }]);
    expect(of(report, 'database')).toMatchObject([{ status: 'failed', cure: expect.stringContaining('start it') }]);
    expect(of(report, 'redis')).toMatchObject([{ status: 'failed', cure: expect.stringContaining('start it') }]);
    // No check shows a secret.
    expect(report.text).not.toContain('hidden-password');
    expect(report.text).not.toContain(secret);
  });

  it('needs no data folder beside a database of its own, as in a container whose root is read-only', async () => {
    const variables = { BELAY_DATA: path.join(folder, 'nowhere'), BELAY_SECRET: secret, PORT: '0' };
    const own = await examine({ ...variables, DATABASE_URL: 'postgres://belay:hidden-password@127.0.0.1:1/belay' });
    expect(of(own, 'data folder')).toMatchObject([
      { status: 'skipped', message: expect.stringContaining('DATABASE_URL') },
    ]);
    expect(of(await examine(variables), 'data folder')).toMatchObject([{ status: 'ok' }]);
  });

  it('warns of a PostgreSQL target whose holders could keep Belay out, with the cure', async () => {
    const superuser = process.env.BELAY_TEST_DATABASE_URL ?? '';
    const sql = postgres(superuser, { max: 1, onnotice: () => {} });
    const name = `doctor_${randomBytes(6).toString('hex')}`;
    await sql.unsafe(`create role ${name} login password '${name}'`);
    try {
      const url = new URL(superuser);
      [url.username, url.password] = [name, name];
      await writeFile(
        path.join(folder, 'belay.yaml'),
        `version: 1\nproviders:\n  target:\n    provider: postgres\n    config: { url: "${url.href}", email_domains: [example.test] }\n`,
      );
      const found = of(await examine({ PORT: '0' }), 'providers');
      expect(found).toContainEqual({ check: 'providers', status: 'ok', message: 'target (postgres) responds' });
      const warnings = found.filter(({ status }) => status === 'warning');
      expect(warnings.map(({ cure }) => cure)).toEqual([
        'grant it pg_signal_backend',
        expect.stringContaining('CONNECTION LIMIT'),
      ]);
    } finally {
      await sql.unsafe(`drop role ${name}`);
      await sql.end();
    }
  });

  it('fails for roles that would be approved and not granted, until its statement has been run', async () => {
    const superuser = process.env.BELAY_TEST_DATABASE_URL ?? '';
    const sql = postgres(superuser, { max: 1, onnotice: () => {} });
    const name = `doctor_${randomBytes(6).toString('hex')}`;
    await sql.unsafe(`create role ${name} login password '${name}'; create role ${name}_reader`);
    try {
      const url = new URL(superuser);
      [url.username, url.password] = [name, name];
      const role = `{ providers: [target], workflows: [now], inherits: ["target:${name}_reader"] }`;
      await writeFile(
        path.join(folder, 'belay.yaml'),
        `version: 1\nproviders:\n  target:\n    provider: postgres\n    config: { url: "${url.href}", email_domains: [example.test] }\nworkflows:\n  now:\n    workflow:\n      document: { dsl: 1.0.3, namespace: test, name: now, version: 1.0.0 }\n      do: [{ grant: { call: access.grant } }]\nroles:\n  first: ${role}\n  second: ${role}\n`,
      );
      const report = await examine({ PORT: '0' });
      const [found, ...others] = of(report, 'providers').filter(({ status }) => status === 'failed');
      expect(others).toEqual([]);
      expect(found?.message).toContain(`first, second would be approved and not granted: ${name} may not grant`);
      expect(report.code).toBe(1);
      await sql.unsafe(found?.cure ?? '');
      expect(of(await examine({ PORT: '0' }), 'providers').map(({ status }) => status)).not.toContain('failed');
    } finally {
      await sql.unsafe(`drop role ${name}_reader; drop role ${name}`);
      await sql.end();
    }
  });

  it('names variables that cannot be used, and a configuration that is not valid', async () => {
    const report = await examine({ PORT: 'many', BELAY_WORKER: 'sometimes' });
    expect(of(report, 'environment').map(({ message }) => message.split(' ')[0])).toEqual(['PORT', 'BELAY_WORKER']);
    expect(report.code).toBe(1);
    await writeFile(path.join(folder, 'belay.yaml'), 'version: 1\nroles:\n  broken:\n    providers: [nowhere]\n');
    const other = await examine({ PORT: '0' });
    expect(of(other, 'configuration')[0]).toMatchObject({
      status: 'failed',
      cure: expect.stringContaining('belay validate'),
    });
  });

  it('reports an enrolled agent that does not run, and its invalid variables', async () => {
    const kept = { dataDirectory: folder, pid: undefined, url: undefined, server: 's', name: 'n', enrolled: true };
    const agentControl = { run: async () => {}, join: () => Promise.reject(new Error()), status: async () => kept };
    const missed = await terminal.run(['doctor', '--json'], { agent: await findClosedPort(), agentControl });
    expect(of(JSON.parse(missed.stdout) as Report, 'agent')).toMatchObject([
      { status: 'failed', cure: expect.stringContaining('belay agent run') },
    ]);
    const wrong = { ...agentControl, status: () => Promise.reject(new Error('HOST is "0.0.0.0": use 127.0.0.1')) };
    const damaged = new CliError('failed', 'identity.json is damaged; remove it and enrol this agent again');
    const broken = { ...agentControl, status: () => Promise.reject(damaged) };
    const told = await terminal.run(['doctor', '--json'], { agentControl: broken });
    expect(of(JSON.parse(told.stdout) as Report, 'agent')).toMatchObject([
      { status: 'failed', message: expect.stringContaining('identity.json is damaged') },
    ]);
    const host = {
      variables: { BELAY_MODE: 'agent' },
      nodeVersion: 'v20.10.0',
      platform: process.platform,
      home: folder,
      folder,
      program: { node: process.execPath, script: '/opt/belay/main.js' },
      userId: undefined,
    };
    const named = await terminal.run(['doctor', '--json'], { agentControl: wrong, host });
    const report = JSON.parse(named.stdout) as Report;
    expect(of(report, 'agent')).toMatchObject([{ status: 'failed', cure: 'use 127.0.0.1' }]);
    expect(of(report, 'node')).toMatchObject([{ status: 'failed', cure: expect.stringContaining('20.19') }]);
  });

  it('is plain lines in a pipe, each as soon as it is known', async () => {
    const { code, stdout } = await terminal.run(['doctor']);
    expect(code).toBe(0);
    expect(stdout.split('\n')[0]).toMatch(/^ok\tnode\tNode v/);
  });
});
