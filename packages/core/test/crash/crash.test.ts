import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { createMemoryConnector, type MemoryProvider } from '@belay/providers/testkit';
import { approvalTasks, workflowOf } from '@belay/testkit/house';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cast, catalogWith, hour, openCast, second } from '../support/stories.js';

const crashpoints = [
  'started',
  'step claimed',
  'committed',
  'call performed',
  'approval opened',
  'message delivered',
  'message revised',
  'asked again',
  'put off',
  'intended',
  'entitlement claimed',
  'grant called',
  'grant recorded',
  'recorded with its move',
  'failure recorded',
  'looked again',
  'outcome stored',
  'decided',
  'signal kept',
  'returned',
  'revocation asked',
  'cancellation stored',
  'step given back',
  'entitlement given back',
  'revoke called',
  'revoke recorded',
  'stopped',
  'provisioned',
];
/** Points that are passed with every step of a story, and how often it passes them: later visits are other places of it. */
const often = new Map([
  ['step claimed', 7],
  ['committed', 12],
  ['call performed', 12],
]);
const visitsOf = (name: string) => (process.env.BELAY_TEST_LONG ? (often.get(name) ?? 2) : often.has(name) ? 3 : 2);
const cases = crashpoints.flatMap((name) =>
  Array.from({ length: visitsOf(name) }, (_, index): [string, number] => [name, index + 1]),
);

const child = fileURLToPath(new URL('./child.mjs', import.meta.url));
const lanes = 2;
type Lane = Cast & { providerUrl: string };

describe('a process that is killed anywhere', () => {
  const all: Lane[] = [];
  const free: Lane[] = [];
  const waiting: ((lane: Lane) => void)[] = [];
  const servers: { close(): void }[] = [];

  beforeAll(async () => {
    const tasks = [{ grant: { call: 'access.grant' } }, { revoke: { call: 'access.revoke' } }];
    const hear = { listen: { to: { one: { with: { type: 'go' } } } }, timeout: { after: { hours: 1 } } };
    const listening = [{ hear }];
    for (let index = 0; index < lanes; index += 1) {
      const cast = await openCast({
        catalog: notifying(
          catalogWith({ revoking: tasks, listening }, { permissions: { delegates: { users: ['ada@example.com'] } } }),
        ),
      });
      const served = await serve(cast.house.provider);
      servers.push(served.server);
      all.push({ ...cast, providerUrl: served.url });
    }
    free.push(...all);
  });
  afterAll(async () => {
    for (const server of servers) server.close();
    await Promise.all(all.map((lane) => lane[Symbol.asyncDispose]()));
  });
  const take = () =>
    new Promise<Lane>((resolve) => {
      const lane = free.pop();
      if (lane) resolve(lane);
      else waiting.push(resolve);
    });
  const give = (lane: Lane) => {
    const next = waiting.shift();
    if (next) next(lane);
    else free.push(lane);
  };

  it('covers every crashpoint there is', async () => {
    const { readdir, readFile } = await import('node:fs/promises');
    const roots = ['../../src/', '../../../engine/src/'].map((path) => fileURLToPath(new URL(path, import.meta.url)));
    const files = await Promise.all(
      roots.map(async (root) => (await readdir(root, { recursive: true })).map((file) => `${root}${file}`)),
    );
    const sources = files.flat().filter((file) => file.endsWith('.ts'));
    const texts = await Promise.all(sources.map((file) => readFile(file, 'utf8')));
    const named = texts.flatMap((text) =>
      [...text.matchAll(/crashpoint\((['`])(.+?)\1\)/g)].map((match) => match[2] ?? ''),
    );
    const expanded = named.flatMap((name) => (name.includes('$') ? ['grant called', 'revoke called'] : [name]));
    expect(new Set(crashpoints)).toEqual(new Set(expanded));
  });

  it.concurrent.each(cases)(
    'dies at "%s" (%i), and another takes over',
    { timeout: 120_000 },
    async (crashAt, occurrence) => {
      const lane = await take();
      try {
        await dieAndTakeOver(lane, crashAt, occurrence);
      } finally {
        give(lane);
      }
    },
  );
});

/** The same catalog, whose approvals tell approvers by messages. */
function notifying(catalog: object): object {
  const [validate, , ...rest] = approvalTasks();
  const stages = [{ approvers: { groups: ['approvers'] } }];
  const approve = { call: 'access.approve', with: { stages, notify: { provider: 'memory', to: 'approvers' } } };
  const workflow = workflowOf('approved', [validate, { approve }, ...rest]);
  const { workflows } = catalog as { workflows: object };
  return { ...catalog, workflows: { ...workflows, approved: { description: 'Asks first', workflow } } };
}

async function dieAndTakeOver(lane: Lane, crashAt: string, occurrence: number): Promise<void> {
  const { house, ada, grace } = lane;
  const { sql } = house.database;
  const [last] = await sql`select coalesce(max(seq), 0)::int as seq from ledger`;
  // A provider that asks for patience, so that the ways of waiting are gone through too; nothing is left of what the last one met.
  for (const operation of ['identities', 'ensurePresent'] as const) {
    while (house.provider.take({ operation })) continue;
    house.provider.inject(operation, { kind: 'throttle' }, 3);
  }
  const died = await run({
    databaseUrl: house.database.url,
    providerUrl: lane.providerUrl,
    crashAt,
    occurrence,
    ada: ada.actor,
    grace: grace.actor,
  });
  expect(died, died.output).toMatchObject({ signal: 'SIGKILL' });

  // R1, R4: whatever the provider holds now has a row that owes its revocation.
  const owed = await sql<{ identity: string }[]>`select identity from entitlements where state <> 'absent'`;
  expect(owed.map(({ identity }) => identity)).toEqual(
    expect.arrayContaining(house.provider.held().map(({ identity }) => identity)),
  );

  await house.pass(46 * second);
  for (let later = 0; later < 3; later += 1) await house.pass(10 * second);
  for (let later = 0; later < 3; later += 1) await house.pass(13 * hour);
  expect(house.provider.held()).toEqual([]);
  const [left] = await sql`select
    (select count(*)::int from steps where status = 'open') as open_steps,
    (select count(*)::int from executions where ended_at is null) as running,
    (select count(*)::int from approvals where status = 'open') as open_approvals,
    (select count(*)::int from entitlements where state <> 'absent') as owed,
    (select count(*)::int from messages where closed_at is null) as open_messages,
    (select count(*)::int from grants where gone_at is null) as not_gone`;
  expect(left).toEqual({ open_steps: 0, running: 0, open_approvals: 0, owed: 0, open_messages: 0, not_gone: 0 });
  // The ledger tells every end, and each of them once.
  const untold = await sql`select e.id, e.status, l.ends from executions e, lateral (
      select count(*)::int as ends from ledger where execution_id = e.id and (type = 'execution.terminated'
        or type = 'io.serverlessworkflow.workflow.' || e.status || '.v1')) l
    where l.ends <> 1`;
  expect([...untold]).toEqual([]);
  const grants =
    await sql`select g.id from grants g where (select count(*) from ledger l where l.execution_id = g.execution_id
    and l.entitlement_id = g.entitlement_id and l.type in ('grant.intended', 'entitlement.revoked')) <> 2`;
  expect([...grants]).toEqual([]);
  const [told] =
    await sql`select count(*)::int as rows from ledger where seq > ${last?.seq as number} and type = 'elevation.requested'`;
  expect(told?.rows).toBeGreaterThan(0);
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

/** The provider for processes that die: the test's own, over the loopback. */
async function serve(provider: MemoryProvider): Promise<{ url: string; server: { close(): void } }> {
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
      const value = await operations[asked.url?.slice(1) ?? '']?.(...(JSON.parse(text) as never[]));
      answer.end(JSON.stringify({ value: value ?? null }));
    } catch (error) {
      const { name, message } = error as Error;
      answer.end(JSON.stringify({ error: { name, message } }));
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
