import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { createMemoryConnector, type MemoryProvider } from '@belay/providers/testkit';
import { expect } from 'vitest';
import { type Cast, openCast } from '../support/stories.js';

const child = fileURLToPath(new URL('./child.mjs', import.meta.url));

/** A house in which one process after another dies, with its provider, which outlives them. */
export type Lane = Cast & {
  providerUrl: string;
  /** Moves the clock of the house and the provider on, then works. */
  pass(milliseconds: number): Promise<void>;
  /** Sets the provider's clock to the time of the house, which a process may have moved on. */
  look(): Promise<void>;
};

export interface Lanes extends AsyncDisposable {
  /** Does `work` with a lane that nothing else uses meanwhile. */
  take(work: (lane: Lane) => Promise<void>): Promise<void>;
}

/** Opens several houses, so that several processes can die at once. */
export async function openLanes(count: number, catalog: unknown): Promise<Lanes> {
  const all: Lane[] = [];
  const servers: { close(): void }[] = [];
  for (let index = 0; index < count; index += 1) {
    const cast = await openCast({ catalog });
    const { provider, database } = cast.house;
    let now = new Date(0);
    provider.options.now = () => now;
    const look = async () => {
      const [clock] = await database.sql<{ at: Date }[]>`select at from test_clock`;
      now = clock?.at ?? now;
    };
    const served = await serve(provider, look);
    servers.push(served.server);
    const pass = async (milliseconds: number) => {
      await database.advance(milliseconds);
      await look();
      await cast.house.work();
    };
    all.push({ ...cast, providerUrl: served.url, pass, look });
  }
  const free = [...all];
  const waiting: ((lane: Lane) => void)[] = [];
  return {
    async take(work) {
      const lane = free.pop() ?? (await new Promise<Lane>((resolve) => waiting.push(resolve)));
      try {
        await work(lane);
      } finally {
        const next = waiting.shift();
        if (next) next(lane);
        else free.push(lane);
      }
    },
    async [Symbol.asyncDispose]() {
      for (const server of servers) server.close();
      await Promise.all(all.map((lane) => lane[Symbol.asyncDispose]()));
    },
  };
}

/** Plays a story in a process, which dies at the crashpoint. */
export async function die(
  { house, ada, grace, providerUrl }: Lane,
  at: { story: 'synchronous' | 'operations'; crashAt: string; occurrence: number },
): Promise<void> {
  const input = { databaseUrl: house.database.url, providerUrl, ...at, ada: ada.actor, grace: grace.actor };
  const died = await run(input);
  expect(died, died.output).toMatchObject({ signal: 'SIGKILL' });
}

function run(input: object): Promise<{ code: number | null; signal: string | null; output: string }> {
  return new Promise((resolve, reject) => {
    const started = spawn(process.execPath, [child, JSON.stringify(input)], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    let output = '';
    started.stdout.on('data', (text) => (output += text));
    started.stderr.on('data', (text) => (output += text));
    started.on('error', reject);
    started.on('exit', (code, signal) => resolve({ code, signal, output }));
  });
}

/** Serves the provider of the test to the processes that die, on the loopback interface. */
async function serve(
  provider: MemoryProvider,
  look: () => Promise<void>,
): Promise<{ url: string; server: { close(): void } }> {
  const client = createMemoryConnector(provider).create({}, { now: Date.now, log: () => {} });
  const signal = new AbortController().signal;
  const operations: Record<string, (...given: never[]) => Promise<unknown> | undefined> = {
    pin: (entitlement) => client.authorizer?.pin(entitlement, signal),
    holds: (entitlement) => client.authorizer?.holds(entitlement, signal),
    ensurePresent: (entitlement, until) => client.authorizer?.ensurePresent(entitlement, until, signal),
    ensureAbsent: (entitlement) => client.authorizer?.ensureAbsent(entitlement, signal),
    list: () => client.identities?.list(signal),
    get: (id) => client.identities?.get(id, signal),
    search: (text, limit) => client.identities?.search(text, limit, signal),
    deliver: (message) => client.notifications?.deliver(message, signal),
    revise: (receipt, message) => client.notifications?.revise?.(receipt, message, signal),
    find: (person) => client.identities?.find(person, signal),
  };
  const server = createServer(async (asked, answer) => {
    let text = '';
    for await (const chunk of asked) text += chunk;
    try {
      await look();
      const value = await operations[asked.url?.slice(1) ?? '']?.(...(JSON.parse(text) as never[]));
      answer.end(JSON.stringify({ value: value ?? null }));
    } catch (error) {
      const { name, message, options } = error as Error & { options?: unknown };
      answer.end(JSON.stringify({ error: { name, message, options } }));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    server: {
      close() {
        server.closeAllConnections();
        server.close();
      },
    },
  };
}
