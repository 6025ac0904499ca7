import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net';
import path from 'node:path';
import { createClient } from '@belay/sdk';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { isMember } from '../../../examples/quickstart/target.mjs';
import { tie } from '../../../packages/providers/test/support/tie.js';
import { type KillableInstallation, type Running, startKillableInstallation } from './support/installation.js';

/** Enough for a start of the server and for a lease of 90 seconds without heartbeats, on a busy machine. */
const patience = { timeout: 150_000, interval: 100 };

let installation: KillableInstallation;
let address: Address;
let tokens: Record<'rita' | 'adam', string>;
const long = { timeout: 300_000 };

const running: Running[] = [];
const commands: number[] = [];

beforeAll(async () => {
  installation = await startKillableInstallation();
  address = await openAddress();
  const token = async (user: string, group: string) => {
    const { stdout, stderr } = await installation.program([
      'token',
      'create',
      '--user',
      user,
      '--group',
      group,
      '--ttl',
      'PT1H',
    ]);
    if (stdout === '') throw new Error(stderr);
    return stdout.trim();
  };
  tokens = {
    rita: await token('rita@example.com', 'engineers'),
    adam: await token('adam@example.com', 'approvers'),
  };
});
afterEach(async () => {
  for (const { child, ended } of running.splice(0)) {
    child.kill('SIGKILL');
    await ended;
  }
});
afterAll(async () => {
  for (const pid of commands) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  await address?.close();
  await installation?.[Symbol.asyncDispose]();
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** An address that stays the same while the server behind it restarts at another one. */
interface Address {
  url: string;
  close(): Promise<void>;
}

async function openAddress(): Promise<Address> {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const { hostname, port } = new URL(installation.url);
    const far = dial({ host: hostname, port: Number(port) });
    tie(near, far, sockets);
    near.pipe(far).pipe(near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Returns whether Rita has the role in the database itself. */
async function holds(): Promise<boolean> {
  const file = await readFile(path.join(installation.folder, 'data', 'demo.json'), 'utf8');
  const { people } = JSON.parse(file) as { people: { email: string; database_url: string }[] };
  const rita = people.find(({ email }) => email === 'rita@example.com');
  return isMember(rita?.database_url ?? '', 'reporting_readonly');
}
const gone = () => vi.waitFor(async () => expect(await holds()).toBe(false), patience);

/** Starts `belay run` with a command that exits with 5 at SIGUSR2, and resolves when its request waits for an approver. */
async function request(): Promise<Running> {
  const script =
    "process.once('SIGUSR2', () => process.exit(5)); setInterval(() => {}, 1000); console.log('pid ' + process.pid + '.');";
  const args = ['run', 'reporting-readonly', '--reason', 'month end', '--lease', '90s', '--'];
  const one = installation.start([...args, process.execPath, '-e', script], {
    BELAY_URL: address.url,
    BELAY_TOKEN: tokens.rita,
  });
  running.push(one);
  await one.says(/(waiting for approval)/);
  return one;
}

async function approve(): Promise<void> {
  const adam = createClient({ url: installation.url, token: tokens.adam });
  // After a start, it takes a moment until the database responds.
  await vi.waitFor(async () => {
    const { approvals } = await adam.approvals.list();
    const id = approvals[0]?.id ?? expect.fail('nothing waits for an approver');
    await adam.approvals.decide({ id, verdict: 'approve' });
  }, patience);
}

async function hearCommand(one: Running): Promise<number> {
  const pid = Number(await one.says(/pid (\d+)\./));
  commands.push(pid);
  return pid;
}

it(
  'waits on when the server is killed, and runs the command when it was approved after the next start',
  long,
  async () => {
    const one = await request();
    await installation.kill();
    await one.says(/(does not respond; waiting for it)/);
    await installation.restart();
    await approve();
    const command = await hearCommand(one);
    expect(await holds()).toBe(true);
    process.kill(command, 'SIGUSR2');
    expect((await one.ended).code).toBe(5);
    await gone();
  },
);

it(
  'keeps the access of a command when the server is killed while it runs, and gives it back when it ends',
  long,
  async () => {
    const one = await request();
    await approve();
    const command = await hearCommand(one);
    await installation.kill();
    await one.says(/(does not respond; the heartbeat is tried again)/);
    await installation.restart();
    await one.says(/(the server responds again)/);
    expect([isAlive(command), await holds()]).toEqual([true, true]);
    process.kill(command, 'SIGUSR2');
    const { code, stderr } = await one.ended;
    expect(code).toBe(5);
    expect(stderr).toContain('the access is given back');
    await gone();
  },
);

it('takes the access away after the next start when the command ended while the server was killed', long, async () => {
  const one = await request();
  await approve();
  const command = await hearCommand(one);
  await installation.kill();
  process.kill(command, 'SIGUSR2');
  await one.says(/(giving the access back is tried again)/);
  await installation.restart();
  expect((await one.ended).code).toBe(5);
  await gone();
});
