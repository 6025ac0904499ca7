import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { Agent, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { digestOf } from '@belay/contract/canonical';
import { createKeyring, signForAgents } from '@belay/core';
import { findFreePort } from '@belay/host';
import { type Spread, spreadOf } from './spread.js';

export interface AgentFigures {
  /** From the start of the process to its first answer, in milliseconds. */
  start: Spread;
  /** Resident memory in MB; 0 where the system does not say. */
  memoryAtStart: number;
  memoryAfterRequests: number;
  requests: number;
}

const main = fileURLToPath(new URL('../../apps/server/bundle/main.js', import.meta.url));

/**
 * Measures how soon an agent responds, and its memory. The agent is a process with a configuration, and its server is
 * not reachable.
 */
export async function measureAgent(options: { starts: number; requests: number }): Promise<AgentFigures> {
  const folder = await mkdtemp(join(tmpdir(), 'belay-bench-agent-'));
  try {
    await enrolByHand(folder);
    const port = await findFreePort('127.0.0.1');
    const taken: number[] = [];
    for (let turn = 1; turn < options.starts; turn++) {
      const { child, milliseconds } = await start(folder, port);
      taken.push(milliseconds);
      await stop(child);
    }
    const { child, milliseconds } = await start(folder, port);
    taken.push(milliseconds);
    const memoryAtStart = await memoryOf(child);
    const agent = new Agent({ keepAlive: true, maxSockets: 4 });
    for (let asked = 0; asked < options.requests; asked += 4) {
      await Promise.all(['/health', '/workflows', '/sessions', '/logs'].map((path) => ask(port, path, agent)));
    }
    agent.destroy();
    const memoryAfterRequests = await memoryOf(child);
    await stop(child);
    return { start: spreadOf(taken), memoryAtStart, memoryAfterRequests, requests: options.requests };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Writes the files that an enrolment leaves behind, with fifty roles. */
async function enrolByHand(folder: string): Promise<void> {
  const roles = Object.fromEntries(
    Array.from({ length: 50 }, (_, index) => [
      `role-${index}`,
      {
        name: `role-${index}`,
        description: 'A role like any other',
        providers: ['store'],
        workflows: ['grant'],
        enabled: true,
        max_duration: 'PT1H',
        default_duration: 'PT15M',
        reason: { required: true },
      },
    ]),
  );
  const store = { name: 'Store', provider: 'postgres', description: '', enabled: true, capabilities: ['authorizer'] };
  const answer = {
    success: true,
    catalog_version: '1.0.1',
    services: { llm: { enabled: false, provider: 'none' } },
    roles: { definitions: roles },
    providers: { definitions: { store } },
    workflows: { definitions: { grant: { name: 'grant', description: '', enabled: true, steps: [] } } },
  };
  const keyring = createKeyring([randomBytes(32).toString('hex')]);
  const signature = await signForAgents(
    { keyring },
    { kind: 'configuration', version: '1.0.1', digest: digestOf(answer) },
    new Date(),
  );
  const identity = {
    version: 1,
    server: 'http://127.0.0.1:9',
    credential: `belay-agent.${'b'.repeat(43)}`,
    enrolledWith: '',
    name: 'bench',
    key: signature.key,
  };
  const received = { received_at: new Date().toISOString(), answer: { ...answer, signature } };
  await writeFile(join(folder, 'identity.json'), JSON.stringify(identity));
  await writeFile(join(folder, 'configuration.json'), JSON.stringify(received));
}

async function start(folder: string, port: number): Promise<{ child: ChildProcess; milliseconds: number }> {
  const before = performance.now();
  const child = spawn(process.execPath, [main], {
    env: { PATH: process.env.PATH, BELAY_MODE: 'agent', BELAY_DATA: folder, BELAY_KEYRING: 'off', PORT: String(port) },
    stdio: 'ignore',
  });
  for (;;) {
    const answered = await ask(port, '/ready').catch(() => 0);
    if (answered === 200) return { child, milliseconds: performance.now() - before };
    if (child.exitCode !== null) throw new Error('The agent did not start');
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

async function stop(child: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => child.once('close', resolve));
  child.kill('SIGTERM');
  await gone;
}

function ask(port: number, path: string, agent?: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { accept: 'application/json' };
    get({ host: '127.0.0.1', port, path, headers, ...(agent ? { agent } : {}) }, (answer) => {
      answer.resume();
      answer.once('end', () => resolve(answer.statusCode ?? 0));
    }).once('error', reject);
  });
}

async function memoryOf(child: ChildProcess): Promise<number> {
  const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024;
}
