// A process that does everything a server does with requests and access, until it kills itself at a named crashpoint. It runs the
// built code (`dist`). The provider is in the process of the test, on the loopback interface, and outlives it.
import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import * as core from '@belay/core';
import { openDatabase } from '@belay/db';
import { createRegistry, Pending, Retryable, Terminal } from '@belay/providers';
import { createMemoryConnector } from '@belay/providers/testkit';
import { sweep } from '@belay/testkit/sweep';
import { createExpressionPool } from '@belay/workflow';
import postgres from 'postgres';

const { databaseUrl, providerUrl, crashAt, occurrence, story, ada, grace } = JSON.parse(process.argv[2]);
const { tell } = await import(`./${story}.mjs`);
const errors = { Pending, Retryable, Terminal };

async function ask(operation, ...given) {
  const response = await fetch(`${providerUrl}/${operation}`, { method: 'POST', body: JSON.stringify(given) });
  const { value, error } = await response.json();
  if (!error) return value;
  throw new errors[error.name](error.message, error.options);
}

const memory = createMemoryConnector();
const loopback = {
  ...memory,
  create: () => ({
    authorizer: {
      residual: 'PT0S',
      knows: true,
      target: async () => 'memory',
      pin: (entitlement) => ask('pin', entitlement),
      holds: (entitlement) => ask('holds', entitlement),
      ensurePresent: (entitlement, until) => ask('ensurePresent', entitlement, until),
      ensureAbsent: (entitlement) => ask('ensureAbsent', entitlement),
      roles: async () => [],
      permissions: async () => [],
    },
    identities: {
      list: () => ask('list'),
      get: (id) => ask('get', id),
      search: (text, limit) => ask('search', text, limit),
      find: (person) => ask('find', person),
    },
    notifications: {
      deliver: (message) => ask('deliver', message),
      revise: (receipt, message) => ask('revise', receipt, message),
    },
    check: async () => {},
    close: async () => {},
  }),
};

// The provider with which the people of the house sign in; it is never called.
const login = {
  type: 'login',
  description: '',
  capabilities: ['authenticator'],
  config: memory.config,
  create: () => ({ check: async () => {}, close: async () => {} }),
};

const { db, close } = openDatabase(databaseUrl, { max: 6 });
const sql = postgres(databaseUrl, { max: 1, fetch_types: false });
const connectors = createRegistry([loopback, login]);
const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const delay = (milliseconds, signal) => wait(milliseconds, undefined, { signal });
const catalog = await core.openCatalog({
  now: Date.now,
  db,
  connectors,
  resolve: () => undefined,
  log: quiet,
  timing: core.timing,
  delay,
});
const pool = createExpressionPool();
let seen = 0;
const under = new Set();
const place = {
  release() {},
  run(work) {
    const one = work().finally(() => under.delete(one));
    under.add(one);
  },
};
// The functions that a story uses, and whether the process has places: it then performs what it claims itself, as a
// server with a worker does.
const world = { hasPlaces: false };
const ctx = {
  db,
  catalog,
  waker: { wake() {}, reserve: () => (world.hasPlaces ? place : null) },
  keyring: core.createKeyring(['a secret for tests that is long enough']),
  evaluate: pool.evaluate,
  timing: core.timing,
  log: quiet,
  newId: randomUUID,
  randomBytes,
  clock: () => new Date(),
  delay,
  fetch,
  host: core.engineHost,
  crashpoint(name) {
    if (name !== crashAt) return;
    seen += 1;
    if (seen === occurrence) process.kill(process.pid, 'SIGKILL');
  },
  program: { version: 'test', revision: 'test', baseUrl: 'http://127.0.0.1:8080' },
};

const requester = core.withActor(ctx, ada);
const approver = core.withActor(ctx, grace);
const operator = core.withActor(ctx, { kind: 'operator', name: 'test' });
const signIn = async (name, groups) => {
  const email = `${name}@example.com`;
  const user = await core.upsertUser(db, { id: randomUUID(), provider: 'login', subject: name, email, name, groups });
  const loginId = randomUUID();
  await sql`
    insert into logins (secret_hash, id, user_id, kind, provider, subject, expires_at)
    values (${randomUUID()}, ${loginId}, ${user.id}, 'token', ${user.provider}, ${user.subject}, '2999-01-01')`;
  return core.withActor(ctx, { kind: 'user', ...user, loginId });
};
const request = async (workflow, person = requester, identities = []) => {
  const asked = { role: 'reader', reason: 'a ticket', duration: 'PT30M', workflow, identities };
  return (await core.requestElevation(person, asked)).output.execution_id;
};
const work = async () => {
  for (let pass = 0; pass < 50; pass += 1) {
    while (under.size > 0) await Promise.all(under);
    const { steps, entitlements } = await sweep(ctx);
    if (steps + entitlements + under.size === 0) return;
  }
};
const pass = async (milliseconds) => {
  await sql`update test_clock set at = at + ${`${milliseconds} milliseconds`}::interval`;
  await work();
};

/** Works as a process that loses the response to the first claim in `table`, and releases the claim. */
const workLosing = async (table) => {
  let lost = false;
  const isLeased = async () =>
    (await sql`select 1 from ${sql(table)} where lease_until is not null limit 1`).length > 0;
  const losing =
    (send) =>
    async (...given) => {
      const result = await send(...given);
      if (lost || !(await isLeased())) return result;
      lost = true;
      // The driver attaches the statement to an error.
      throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', query: 'select', parameters: [] });
    };
  const get = (target, name) => {
    const value = Reflect.get(target, name);
    // `execute` of packages/db sends statements without the query builder.
    if (name === '_')
      return { session: { client: { unsafe: losing((...given) => value.session.client.unsafe(...given)) } } };
    return name === 'transaction' || name === 'execute' ? losing(value.bind(target)) : value;
  };
  const lossy = { ...ctx, db: new Proxy(db, { get }), delay: () => delay(20) };
  for (let tries = 0; !lost && tries < 5; tries += 1) await sweep(lossy).catch(() => {});
  while (await isLeased()) await delay(20);
};
/** Returns the person's context with other moves of the executions before each of its transactions. */
const outrun = (person) => {
  const transaction = async (work) => {
    await sql`update executions set version = version + 1 where ended_at is null`;
    return db.transaction(work);
  };
  const get = (target, name) => (name === 'transaction' ? transaction : Reflect.get(target, name));
  return { ...person, db: new Proxy(db, { get }) };
};

await tell(
  Object.assign(world, { core, ctx, requester, approver, operator, signIn, request, work, pass, workLosing, outrun }),
);
await catalog.close();
await pool.close();
await sql.end();
await close();
