import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, createServer, connect as dial, type Server, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { endLapsedRuns, noteReachable, timing } from '@belay/core';
import { type Connector, postgresConnector } from '@belay/providers';
import { serverUrl } from '@belay/testkit/database';
import { createWorld, type World } from '@belay/testkit/world';
import postgres from 'postgres';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { tie } from '../../../packages/providers/test/support/tie.js';
import { type Typist, typeInto } from './support/pty.js';

const main = fileURLToPath(new URL('../bundle/main.js', import.meta.url));
const suffix = randomBytes(6).toString('hex');
const reader = `reader_${suffix}`;
const rita = `rita_${suffix}`;

/** A lease of three seconds: short enough for a test, and long enough for heartbeats on a busy machine. */
const run = { ...timing.run, lease: 3_000, shortest: 500, note: 100, outage: 200, settle: 500 };

/** The PostgreSQL connector with the connection of a cluster, so that these tests need no cluster. */
const clusterConnector = {
  ...postgresConnector,
  type: 'cluster',
  connection: () => ({ variables: {}, cluster: { server: 'https://k8s.example.com', namespace: 'shop' } }),
} as Connector;

let world: World;
let target: postgres.Sql;
let network: Network;
let token: string;
let working: Promise<void>;
/** Whether the server acts as if it were stopped: it grants nothing, and no time passes. */
let paused = false;
const stopping = new AbortController();

beforeAll(async () => {
  target = postgres(serverUrl(), { max: 1, onnotice: () => {} });
  await target.unsafe(`create role ${reader}; create role ${rita} login`);
  const grantOnly = {
    document: { dsl: '1.0.3', namespace: 'test', name: 'at-once', version: '1.0.0' },
    do: [{ grant: { call: 'access.grant' } }, { hold: { call: 'access.hold' } }],
  };
  world = await createWorld({
    timing: { run },
    connectors: [postgresConnector as Connector, clusterConnector],
    change: ({ providers, workflows, ...rest }) => ({
      ...rest,
      providers: {
        ...providers,
        pg: {
          provider: 'postgres',
          share_connection: true,
          config: { url: serverUrl(), identity: { table: { 'rita@example.test': rita } } },
        },
        k8s: {
          provider: clusterConnector.type,
          share_connection: true,
          config: { url: serverUrl(), identity: { table: { 'rita@example.test': rita } } },
        },
      },
      roles: {
        'read-figures': {
          providers: ['pg'],
          inherits: [`pg:${reader}`],
          workflows: ['at-once'],
          reason: { required: false },
        },
        'read-cluster': {
          providers: ['k8s'],
          inherits: [`k8s:${reader}`],
          workflows: ['at-once'],
          reason: { required: false },
        },
      },
      workflows: { ...workflows, 'at-once': { description: 'Grants at once', workflow: grantOnly } },
    }),
  });
  token = await world.token('requester', 'device');
  // The background work of a server and a worker.
  const { signal } = stopping;
  const work = async () => {
    while (!signal.aborted) {
      if (!paused) {
        await noteReachable(world.context);
        await endLapsedRuns(world.context);
        await world.drive();
      }
      await world.context.delay(run.note, signal).catch(() => {});
    }
  };
  working = work();
});
afterAll(async () => {
  stopping.abort();
  await working;
  await world[Symbol.asyncDispose]();
  await target.unsafe(`drop role ${reader}; drop role ${rita}`);
  await target.end();
});
beforeEach(async () => {
  network = await openNetwork(world.url);
});
afterEach(async () => {
  paused = false;
  for (const { child, command } of started.splice(0)) {
    child.kill('SIGKILL');
    if (command !== undefined && isAlive(command)) process.kill(command, 'SIGKILL');
  }
  for (const terminal of terminals.splice(0)) await terminal[Symbol.asyncDispose]();
  await gone();
  network.away = true;
  network.hangUp();
  network.server.close();
});

/**
 * The connection from the client to the server. `away`: nothing passes; `held`: requests that contain this text get headers but no body.
 */
interface Network {
  url: string;
  server: Server;
  away: boolean;
  held: string | undefined;
  /** How many requests were held. */
  holding: number;
  hangUp(): void;
}

async function openNetwork(to: string): Promise<Network> {
  const { hostname, port } = new URL(to);
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    if (network.away) return void near.destroy();
    const far = dial({ host: hostname, port: Number(port) });
    near.on('data', (bytes) => {
      if (network.held === undefined || !bytes.toString('latin1').includes(network.held)) return;
      network.holding += 1;
      near.unpipe(far);
      far.unpipe(near);
      near.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n');
    });
    tie(near, far, sockets);
    near.pipe(far).pipe(near);
  });
  const hangUp = () => {
    for (const socket of sockets) socket.destroy();
  };
  const network: Network = { url: '', server, away: false, held: undefined, holding: 0, hangUp };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  network.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return network;
}

/** Returns whether Rita is a member of the role in the database itself. */
async function holds(): Promise<boolean> {
  const rows = await target`
    select from pg_auth_members m join pg_roles r on r.oid = m.roleid join pg_roles p on p.oid = m.member
    where r.rolname = ${reader} and p.rolname = ${rita}`;
  return rows.length > 0;
}
const gone = () => vi.waitFor(async () => expect(await holds()).toBe(false), { timeout: 30_000, interval: 50 });

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

interface Started {
  child: ChildProcess;
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** The process id that the command prints. */
  command?: number;
  stdout(): string;
  stderr(): string;
}
const started: Started[] = [];

const terminals: Typist[] = [];

function environment(): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '',
    BELAY_URL: network.url,
    BELAY_TOKEN: token,
    BELAY_AGENT: 'off',
    HOME: '/nonexistent',
  };
}

/** Starts `belay run` with a command that runs the script and prints its process id, and waits for the process id. */
async function start(script: string, role?: string): Promise<Started & { command: number }> {
  return hearCommand(launch(script, role));
}

function launch(script: string, role = 'read-figures'): Started {
  // The process id is printed last, so that a signal arrives after the script has set up its handlers.
  const command = [process.execPath, '-e', `${script}; console.log('pid ' + process.pid);`];
  const child = spawn(process.execPath, [main, 'run', role, '--', ...command], {
    env: environment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => void (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (stderr += text));
  // 'close' comes after all output was read; 'exit' does not wait for that.
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal }));
  const one: Started = { child, ended, stdout: () => stdout, stderr: () => stderr };
  started.push(one);
  return one;
}

async function hearCommand(one: Started): Promise<Started & { command: number }> {
  const pid = await vi.waitFor(
    () => {
      const found = /pid (\d+)\n/.exec(one.stdout())?.[1];
      if (found === undefined) throw new Error(`the command has not started: ${one.stderr()}`);
      return Number(found);
    },
    { timeout: 30_000, interval: 50 },
  );
  return Object.assign(one, { command: pid });
}

const stay = 'setInterval(() => {}, 1000);';

describe('belay run, at a real PostgreSQL', () => {
  it.each([
    ['ends by itself', 0],
    ['fails', 3],
  ])('has given the access back when the command %s, and ends with its code', async (_, code) => {
    const { ended, command } = await start(`process.once('SIGUSR2', () => process.exit(${code})); ${stay}`);
    expect(await holds()).toBe(true);
    process.kill(command, 'SIGUSR2');
    expect(await ended).toEqual({ code, signal: null });
    await gone();
  });

  it('tells the command where the database is and as whom, and no secret, nor the token of the person', async () => {
    const variables =
      'JSON.stringify(Object.fromEntries(Object.entries(process.env).filter(([name]) => /^(PG|BELAY)/.test(name))))';
    const { ended, stderr } = await start(`console.error('env ' + ${variables}); setTimeout(() => {}, 300);`);
    await ended;
    const { hostname, port, pathname } = new URL(serverUrl());
    expect(JSON.parse(/env (.*)/.exec(stderr())?.[1] ?? '{}')).toEqual({
      PGHOST: hostname,
      PGPORT: port,
      PGDATABASE: pathname.slice(1),
      PGUSER: rita,
      BELAY_URL: network.url,
      BELAY_AGENT: 'off',
    });
  });

  it.each([
    ['ends', (one: Started & { command: number }) => process.kill(one.command, 'SIGUSR2')],
    ['is killed', (one: Started & { command: number }) => process.kill(one.command, 'SIGKILL')],
    ['ends with belay', (one: Started & { command: number }) => one.child.kill('SIGTERM')],
  ])('hands the command a kubeconfig that is removed when it %s', async (_, end) => {
    const shows = "console.error('file ' + process.env.KUBECONFIG.split(':')[0]);";
    const one = await start(`${shows} process.once('SIGUSR2', () => process.exit(0)); ${stay}`, 'read-cluster');
    const file = await vi.waitFor(() => /file (\S+)/.exec(one.stderr())?.[1] ?? expect.fail('no file'), {
      timeout: 30_000,
    });
    const config = JSON.parse(await readFile(file, 'utf8')) as { contexts: unknown; clusters: unknown };
    expect(config.clusters).toEqual([{ name: 'belay-k8s', cluster: { server: 'https://k8s.example.com' } }]);
    expect(config.contexts).toEqual([{ name: 'belay-k8s', context: { cluster: 'belay-k8s', namespace: 'shop' } }]);
    end(one);
    await one.ended;
    await expect(readFile(file)).rejects.toThrow('ENOENT');
    expect(one.stderr()).toContain('does not say which user you are at https://k8s.example.com');
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('passes %s on to the command, and gives the access back', async (signal, code) => {
    const { child, ended, command } = await start(stay);
    expect(await holds()).toBe(true);
    child.kill(signal);
    expect(await ended).toEqual({ code, signal: null });
    expect(isAlive(command)).toBe(false);
    await gone();
  });

  it('gives the access back when the command is killed, and ends with 137', async () => {
    const { ended, command } = await start(stay);
    process.kill(command, 'SIGKILL');
    expect(await ended).toEqual({ code: 137, signal: null });
    await gone();
  });

  it('keeps the access for longer than the lease while the command runs', async () => {
    const { child, ended } = await start(stay);
    const begun = Date.now();
    await vi.waitFor(() => expect(Date.now() - begun).toBeGreaterThan(3 * run.lease), { timeout: 30_000 });
    expect(await holds()).toBe(true);
    child.kill('SIGTERM');
    await ended;
  });

  it('ends the access without a word of belay when it is killed, though the command lives on', async () => {
    const { child, command } = await start(stay);
    // The command still has the standard error of `belay` open, so wait for 'exit' and not for 'close'.
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
    await gone();
    expect(isAlive(command)).toBe(true);
  });

  it('ends the access when the network of the client is gone, and the command is told', async () => {
    const { stderr } = await start(stay);
    network.away = true;
    network.hangUp();
    await gone();
    await vi.waitFor(() => expect(stderr()).toContain('the server does not respond'), { timeout: 30_000 });
    network.away = false;
    await vi.waitFor(() => expect(stderr()).toContain('has ended this run'), { timeout: 30_000 });
  });

  it('gives the access back when the server is away for a moment as the command ends', async () => {
    const { child, ended, stderr } = await start(stay);
    network.away = true;
    network.hangUp();
    child.kill('SIGTERM');
    await vi.waitFor(() => expect(stderr()).toContain('giving the access back is tried again'), { timeout: 30_000 });
    network.away = false;
    expect(await ended).toEqual({ code: 143, signal: null });
    await gone();
  });

  it('gives the access back although the terminal that closes sends its signal twice', async () => {
    const { child, ended, stderr } = await start(stay);
    network.away = true;
    network.hangUp();
    child.kill('SIGHUP');
    await vi.waitFor(() => expect(stderr()).toContain('giving the access back is tried again'), { timeout: 30_000 });
    child.kill('SIGHUP');
    network.away = false;
    expect(await ended).toEqual({ code: 129, signal: null });
    await gone();
  });

  it('leaves at Ctrl-C while it cannot give the access back, which the lease ends', async () => {
    const { child, ended, stderr } = await start(stay);
    network.away = true;
    network.hangUp();
    child.kill('SIGTERM');
    await vi.waitFor(() => expect(stderr()).toContain('giving the access back is tried again'), { timeout: 30_000 });
    child.kill('SIGINT');
    expect(await ended).toEqual({ code: 143, signal: null });
    expect(stderr()).toContain('the access ends without a heartbeat for PT3S');
    await gone();
  });

  it('does not start the command when a signal comes while the server never ends its last answer before that', async () => {
    network.held = '/access.connection';
    const { child, ended, stdout, stderr } = launch(stay);
    await vi.waitFor(() => expect(network.holding, stderr()).toBeGreaterThan(0), { timeout: 30_000 });
    child.kill('SIGTERM');
    await ended;
    expect(stderr()).toContain('stopped before the access was active');
    expect(stdout()).toBe('');
    await gone();
  });

  it('waits for the access while the server is away, and runs the command when it is back', async () => {
    [paused, network.held] = [true, '/executions.get'];
    const one = launch('setTimeout(() => {}, 300);');
    await vi.waitFor(() => expect(network.holding, one.stderr()).toBeGreaterThan(0), { timeout: 30_000 });
    [network.away, network.held] = [true, undefined];
    network.hangUp();
    await vi.waitFor(() => expect(one.stderr()).toContain('waiting for it'), { timeout: 30_000 });
    [paused, network.away] = [false, false];
    await hearCommand(one);
    expect(await one.ended).toEqual({ code: 0, signal: null });
    await gone();
  });

  it('gives back when the last of two runs ends', async () => {
    const first = await start(stay);
    const second = await start(stay);
    first.child.kill('SIGTERM');
    await first.ended;
    expect(first.stderr()).toContain('another belay run uses it');
    expect(await holds()).toBe(true);
    second.child.kill('SIGTERM');
    await second.ended;
    expect(second.stderr()).toContain('given back');
    await gone();
  });
});

/** What was killed, how long the access may remain under the lease of these tests, and how long it remained. */
const measured: { killed: string; bound: number; took: number }[] = [];

/** Calls `kill`, and resolves when the target no longer has the access. Throws when that took longer than the bound. */
async function goneWithin(bound: number, killed: string, kill: () => unknown): Promise<void> {
  expect(await holds()).toBe(true);
  const begun = performance.now();
  await kill();
  await gone();
  const took = performance.now() - begun;
  measured.push({ killed, bound, took });
  expect(took, killed).toBeLessThan(bound);
}

/** The time that a busy machine may add, in milliseconds: a turn of the worker, and the response time of the target. */
const slack = 15_000;
const byLease = run.lease + run.outage + slack;

/** Starts `belay run` at a real terminal, and waits until its command prints its process id. */
async function startAtTerminal(script: string): Promise<{ terminal: Typist; command: number }> {
  // The process id is printed last, so that a typed key arrives after the script has set up its handlers.
  const command = `'${process.execPath}' -e "${script} console.log('pid ' + process.pid);"`;
  const terminal = typeInto(`'${process.execPath}' '${main}' run read-figures -- ${command}`, environment());
  terminals.push(terminal);
  await terminal.sees(/pid \d+/);
  return { terminal, command: Number(/pid (\d+)/.exec(terminal.screen())?.[1]) };
}

describe('belay run, killed in every way', () => {
  afterAll(() => {
    const lines = measured.map(({ killed, bound, took }) => `| ${killed} | ${bound} ms | ${took.toFixed(0)} ms |`);
    console.info(['| Killed | Bound | Gone after |', '| --- | --- | --- |', ...lines].join('\n'));
  });

  it('ends the access within the bound when belay, its command, or both are killed', async () => {
    const one = await start(stay);
    await goneWithin(slack, 'the command', () => process.kill(one.command, 'SIGKILL'));
    const two = await start(stay);
    await goneWithin(byLease, 'belay', () => two.child.kill('SIGKILL'));
    const three = await start(stay);
    await goneWithin(byLease, 'belay and the command', () => {
      three.child.kill('SIGKILL');
      process.kill(three.command, 'SIGKILL');
    });
  });

  it('ends the access and the command when the terminal is closed', async () => {
    const { terminal, command } = await startAtTerminal(stay);
    await goneWithin(slack, 'the terminal', () => terminal.close());
    await vi.waitFor(() => expect(isAlive(command)).toBe(false), { timeout: 10_000 });
  });

  it('leaves Ctrl-C to the command, once and twice, and gives back when it ends', async () => {
    const once = await startAtTerminal(stay);
    await goneWithin(slack, 'Ctrl-C', () => once.terminal.type('\u0003'));
    expect(await once.terminal.ended()).toBe(130);
    const asks =
      "let n = 0; process.on('SIGINT', () => { console.log('heard ' + ++n); if (n === 2) process.exit(7); });";
    const twice = await startAtTerminal(`${asks} ${stay}`);
    twice.terminal.type('\u0003');
    await twice.terminal.sees('heard 1');
    expect(await holds()).toBe(true);
    await goneWithin(slack, 'Ctrl-C twice, first ignored', () => twice.terminal.type('\u0003'));
    expect(await twice.terminal.ended()).toBe(7);
  });

  it('gives back when the command ends, though a process that it left behind lives on', async () => {
    const leaves =
      "const left = require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true, stdio: 'ignore' }); left.unref(); console.log('left ' + left.pid); setTimeout(() => {}, 300);";
    const { ended, stdout } = await start(leaves);
    const outcome = await ended;
    const left = Number(/left (\d+)/.exec(stdout())?.[1]);
    try {
      expect(outcome).toEqual({ code: 0, signal: null });
      await gone();
      expect(isAlive(left)).toBe(true);
    } finally {
      process.kill(left, 'SIGKILL');
    }
  });
});
