import { serverRouter } from '@belay/api';
import { type Context, createLogin, type LiveCatalog, openCatalog, openChanges } from '@belay/core';
import { type Connector, githubConnector } from '@belay/providers';
import { type CallLimit, limitCalls, startFront, startGithub, throttle } from '@belay/targets';
import { approvalCatalog, createHouse, workflowOf } from '@belay/testkit/house';
import { type Served, send, serve } from '@belay/testkit/serve';
import { workHere } from '@belay/testkit/work-here';
import { afterEach, describe, expect, it } from 'vitest';

/** Attacks on the calls that GitHub accepts: one person uses up what the revocations of others need. */

const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const validate = { validate: { call: 'access.validate' } };
/** A workflow that validates in a loop, and goes on after every error. */
const looping = [
  {
    loop: {
      for: { each: 'one', in: '${ [range(400)] }' },
      do: [{ attempt: { try: [validate], catch: { retry: { limit: { attempt: { count: 3 } } } } } }],
    },
  },
];

interface Process {
  /** Calls the process over HTTP, as a person. */
  call(who: string, method: string, path: string, body?: object): Promise<{ status: number; body: Answer }>;
  rest(): Promise<void>;
}
type Answer = { output: { execution_id: string }; state: string; message?: string };

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** Opens processes on one database and one organization at GitHub, which accepts `calls` calls. */
async function openFleet({ calls = 300, processes = 1, limits = {}, gh = {} as object } = {}) {
  const github = await startGithub({ now: Date.now, people: 10 });
  closing.push(() => github[Symbol.asyncDispose]());
  await github.call('admin', 'POST', '/orgs/acme/teams', { name: 'oncall', permission: 'push' });
  const front = await startFront({ to: github.url, now: Date.now, inProcess: true });
  closing.push(() => front[Symbol.asyncDispose]());
  const limit: CallLimit = limitCalls({ limit: calls, resetAt: Date.now() + 60 * 60_000 });
  front.on({}, limit);
  const { id: one } = (await github.call('admin', 'GET', '/users/person-1')).body as { id: number };
  const { id: two } = (await github.call('admin', 'GET', '/users/person-2')).body as { id: number };
  const table = { 'rita@example.com': String(one), 'olaf@example.com': String(two) };
  const base = approvalCatalog() as { providers: object; roles: Record<string, object>; workflows: object };
  const catalog = {
    ...base,
    server: { limits: { requests_per_hour: 10_000, lists_per_hour: 10_000, ...limits } },
    providers: {
      ...base.providers,
      gh: {
        provider: 'github',
        config: {
          url: front.url,
          app_id: github.app.id,
          installation_id: github.app.installation,
          private_key: github.app.privateKey,
          identity: { table },
        },
        ...gh,
      },
    },
    roles: {
      oncall: {
        providers: ['gh'],
        inherits: ['gh:team/oncall'],
        workflows: ['automatic', 'approved', 'looping'],
        permissions: { groups: ['engineers'] },
      },
    },
    workflows: { ...base.workflows, looping: { description: 'x', workflow: workflowOf('looping', looping) } },
  };
  const house = await createHouse({ time: null, catalog, connectors: [githubConnector as Connector] });
  closing.push(() => house[Symbol.asyncDispose]());
  const tokens = new Map<string, string>();
  for (const name of ['rita', 'olaf']) {
    const { actor } = await house.person(name, ['engineers']);
    tokens.set(name, (await createLogin(house.ctx, { user: actor, kind: 'device' })).token);
  }

  async function openProcess(): Promise<Process> {
    const { db, timing, delay, log } = house.ctx;
    const { connectors } = house;
    const settings = { db, connectors, resolve: () => undefined, log, timing, delay, now: Date.now };
    const live: LiveCatalog = await openCatalog(settings);
    closing.push(() => live.close());
    const changes = openChanges({ databaseUrl: house.database.url, log: quiet, delay });
    closing.push(() => changes.close());
    live.follow(changes);
    const worker = workHere<Context>({ ...house.ctx, catalog: live, changes });
    const server: Served = await serve({ context: worker.ctx, router: serverRouter });
    closing.push(async () => {
      await server[Symbol.asyncDispose]();
      await worker.rest();
    });
    return {
      rest: worker.rest,
      async call(who, method, path, body) {
        const answer = await send(`${server.url}/api/v1${path}`, {
          method,
          headers: {
            authorization: `Bearer ${tokens.get(who)}`,
            'content-type': 'application/json',
            accept: 'application/json',
          },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
        return { status: answer.status, body: JSON.parse(answer.body) as Answer };
      },
    };
  }

  const opened: Process[] = [];
  for (let made = 0; made < processes; made += 1) opened.push(await openProcess());
  const isMember = async (login: string) =>
    (await github.call('admin', 'GET', `/orgs/acme/teams/oncall/memberships/${login}`)).status === 200;
  return { processes: opened, front, limit, isMember, house, table };
}

const asking = (workflow: string) => ({ role: 'oncall', reason: 'a ticket', duration: 'PT30M', workflow });
/** What GitHub's limit keeps for revocations: a fifth. */
const reserved = (calls: number) => calls / 5;

/** Makes a request and waits until its access is active. */
async function hold({ call, rest }: Process, who: string): Promise<string> {
  const { body } = await call(who, 'POST', '/elevate', asking('automatic'));
  await rest();
  return body.output.execution_id;
}

describe('a person who floods GitHub with calls', () => {
  it('leaves the calls that the revocation of another person needs, and GitHub rejects no call', async () => {
    const { processes, limit, isMember } = await openFleet();
    const [belay] = processes as [Process];
    const held = await hold(belay, 'olaf');
    expect(await isMember('person-2')).toBe(true);
    const flood = async (turn: number) => {
      for (let made = 0; made < 25; made += 1) {
        if (made % 3 === turn % 3) await belay.call('rita', 'GET', `/provider/gh/identities?q=person-${made}`);
        else if (made % 3 === 1) await belay.call('rita', 'GET', '/provider/gh/roles');
        else {
          const { body } = await belay.call('rita', 'POST', '/elevate', asking('approved'));
          if (body.output) await belay.call('rita', 'GET', `/execution/${body.output.execution_id}/cancel`);
        }
      }
    };
    await Promise.all(Array.from({ length: 12 }, (_, turn) => flood(turn)));
    expect(limit.left()).toBeLessThan(300 / 2);
    expect(limit.left()).toBeGreaterThanOrEqual(reserved(300));
    expect((await belay.call('olaf', 'POST', `/access/${held}/return`, {})).status).toBe(200);
    await belay.rest();
    expect(await isMember('person-2')).toBe(false);
    expect(limit.refused()).toBe(0);
  });

  it('spends no call with requests beyond the limit, through a workflow without an approval either', async () => {
    const { processes, limit } = await openFleet({ limits: { open_requests: 2 } });
    const [belay] = processes as [Process];
    await hold(belay, 'rita');
    await belay.call('rita', 'POST', '/elevate', asking('approved'));
    await belay.rest();
    const before = limit.left();
    const refused = await Promise.all(
      Array.from({ length: 30 }, (_, turn) =>
        belay.call('rita', 'POST', '/elevate', asking(turn % 2 ? 'automatic' : 'approved')),
      ),
    );
    expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([429]));
    expect(limit.left()).toBe(before);
  });

  it('does not reach the reserve with a workflow that validates in a loop and goes on after errors', async () => {
    const { processes, limit, isMember } = await openFleet({ calls: 200 });
    const [belay] = processes as [Process];
    const held = await hold(belay, 'olaf');
    for (let made = 0; made < 4; made += 1) await belay.call('rita', 'POST', '/elevate', asking('looping'));
    await expect.poll(() => limit.left(), { timeout: 20_000 }).toBeLessThanOrEqual(reserved(200));
    expect(limit.left()).toBeGreaterThanOrEqual(reserved(200) - 1);
    await belay.call('olaf', 'POST', `/access/${held}/return`, {});
    await expect.poll(() => isMember('person-2'), { timeout: 20_000 }).toBe(false);
    expect(limit.refused()).toBe(0);
  }, 60_000);
});

describe('a fleet of two processes', () => {
  it('sends nothing from either of them while GitHub demands of one to wait', async () => {
    const { processes, front, house } = await openFleet({ processes: 2 });
    const [one, other] = processes as [Process, Process];
    await other.call('rita', 'GET', '/provider/gh/roles');
    const relent = front.on({}, throttle(30));
    expect((await one.call('rita', 'GET', '/provider/gh/roles')).status).toBe(503);
    const { sql } = house.database;
    await expect.poll(async () => (await sql`select from provider_pauses`).length).toBe(1);
    relent();
    const ask = async (process: Process) => (await process.call('rita', 'GET', '/provider/gh/roles')).status;
    // The pause reaches the other process by a notification, or within two seconds.
    await expect.poll(() => ask(other), { timeout: 10_000 }).toBe(503);
    const sent = front.journal.length;
    for (let asked = 0; asked < 3; asked += 1) expect([await ask(one), await ask(other)]).toEqual([503, 503]);
    expect(front.journal.length).toBe(sent);
  });

  it.each([1, 2, 3, 4])(
    'never uses the reserve for what one person does there, in any mix (%i)',
    async (seed) => {
      const { processes, limit, isMember } = await openFleet({ calls: 250, processes: 2 });
      const [first] = processes as [Process, Process];
      const held = await hold(first, 'olaf');
      const random = numbers(seed);
      const mine: string[] = [];
      const acts = [
        async (at: Process) => void (await at.call('rita', 'GET', '/provider/gh/identities?q=pers')),
        async (at: Process) => void (await at.call('rita', 'GET', '/provider/gh/roles')),
        async (at: Process) => {
          const { body } = await at.call('rita', 'POST', '/elevate', asking(random() < 0.8 ? 'approved' : 'looping'));
          if (body.output) mine.push(body.output.execution_id);
        },
        async (at: Process) => {
          const id = mine.shift();
          if (id) await at.call('rita', 'GET', `/execution/${id}/cancel`);
        },
        async (at: Process) =>
          void (await at.call('rita', 'POST', '/elevate', { ...asking('approved'), identities: ['x'] })),
      ];
      for (let round = 0; round < 20; round += 1) {
        const now = Array.from({ length: 6 }, () => [pick(acts, random), pick(processes, random)] as const);
        await Promise.all(now.map(([act, at]) => act(at)));
      }
      // A process knows of the calls of the other one only by responses: it may have up to eight calls on their way.
      expect(limit.left()).toBeGreaterThanOrEqual(reserved(250) - 8);
      await first.call('olaf', 'POST', `/access/${held}/return`, {});
      await expect.poll(() => isMember('person-2'), { timeout: 20_000 }).toBe(false);
      expect(limit.refused()).toBe(0);
    },
    60_000,
  );
});

/** Returns a function that returns numbers from 0 to 1, the same ones for the same seed. */
function numbers(seed: number): () => number {
  let state = seed * 2_654_435_761;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 0x9e3779b9) >>> 0;
    return state / 2 ** 32;
  };
}

function pick<T>(all: readonly T[], random: () => number): T {
  return all[Math.floor(random() * all.length)] as T;
}
