import {
  adoptCredential,
  enrollAgent,
  listLogs,
  listSessions,
  readSync,
  registerAgent,
  reportAgent,
  requestElevation,
  verifyAgent,
  verifyLogin,
  withActor,
} from '@belay/core';
import type { Connector } from '@belay/providers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Cast, catalogWith, minute, openCast, second, together } from './support/stories.js';

const secret = 'hunter2-of-the-vendor';

/** A provider whose configuration is full of secrets; one of them is even part of what it grants. */
const vendor: Connector<{ url: string; key: string }> = {
  type: 'vendor',
  description: 'Has secrets',
  capabilities: ['authorizer'],
  config: z.strictObject({ url: z.string(), key: z.string() }),
  plan: (config) => ({ ok: true, accesses: [{ account: config.key }] }),
  create: () => ({ check: async () => {}, close: async () => {} }),
};

const environment = { name: 'build-3', description: 'The build machine in the cellar' };
let cast: Cast;
beforeEach(async () => {
  const tasks = [
    {
      ask: { call: 'http', with: { method: 'get', endpoint: `https://x.example/${secret}`, headers: { key: secret } } },
    },
    { maybe: { try: [{ grant: { call: 'access.grant' } }], catch: { do: [{ note: { set: { secret } } }] } } },
    { both: { fork: { branches: [{ hold: { call: 'access.hold' } }, { pause: { wait: { seconds: 1 } } }] } } },
  ];
  const catalog = catalogWith({ secretive: tasks }) as { providers: object; roles: object };
  cast = await openCast({
    connectors: [vendor as unknown as Connector],
    catalog: {
      ...catalog,
      services: {
        llm: { provider: 'anthropic', model: 'some-model', api_key: secret },
        vault: { provider: 'hashicorp', address: 'https://vault.example', token: secret },
      },
      providers: {
        ...catalog.providers,
        vault: {
          provider: 'vendor',
          name: 'Key of ${env:NAME}',
          config: { url: `https://${secret}@x.example`, key: secret },
        },
        off: { provider: 'vendor', enabled: false, config: { url: 'x', key: '${env:MISSING}' } },
      },
      roles: {
        ...catalog.roles,
        keeper: { description: 'Opens ${vault:a#b} ${env:KEY}', providers: ['vault'], workflows: ['automatic'] },
        retired: { enabled: false, providers: ['memory'], inherits: ['memory:read'], workflows: ['automatic'] },
      },
    },
  });
});
afterEach(() => cast[Symbol.asyncDispose]());

async function enrol(name = 'build-3', ttl = 'P30D') {
  const made = await enrollAgent(cast.house.operator(), { name, ttl });
  const actor = await verifyAgent(cast.house.ctx, { token: made.credential });
  if (!actor) throw new Error('not an agent');
  return { ...made, me: withActor(cast.house.ctx, actor) };
}
const ledgerOf = async (type: string) =>
  (await cast.house.database.sql`select * from ledger where type = ${type} order by seq`).map((row) => ({ ...row }));

describe('an agent', () => {
  it('is enrolled by operators only, for a stated time, under a name of its own', async () => {
    const operator = cast.house.operator();
    await expect(enrollAgent(cast.ada, { name: 'x', ttl: 'P1D' })).rejects.toMatchObject({ code: 'forbidden' });
    const { me } = await enrol();
    await expect(enrollAgent(me, { name: 'x', ttl: 'P1D' })).rejects.toMatchObject({ code: 'forbidden' });
    for (const name of ['', ' ', 'a b', '-x', 'x\n', 'x'.repeat(101)]) {
      await expect(enrollAgent(operator, { name, ttl: 'P1D' })).rejects.toMatchObject({ issues: [{ path: 'name' }] });
    }
    for (const ttl of ['P400D', '-P1D', 'soon']) {
      await expect(enrollAgent(operator, { name: 'x', ttl })).rejects.toMatchObject({ code: 'invalid' });
    }
  });

  it('is known by its credential until that ends, and the credential is not in the database', async () => {
    const { credential, agent } = await enrol('build-3', 'PT1H');
    const { house } = cast;
    const tables = await Promise.all(
      ['agents', 'ledger', 'logins'].map((table) => house.database.sql.unsafe(`select * from ${table}`)),
    );
    expect(JSON.stringify(tables)).toContain(agent.id);
    expect(JSON.stringify(tables)).not.toContain(credential);
    for (const token of ['', 'belay-agent.', credential.slice(0, -1), `${credential}A`, credential.toUpperCase()]) {
      expect(await verifyAgent(house.ctx, { token })).toBeNull();
    }
    await house.database.advance(60 * minute - second);
    expect(await verifyAgent(house.ctx, { token: credential })).toEqual({ kind: 'agent', ...agent });
    await house.database.advance(second);
    expect(await verifyAgent(house.ctx, { token: credential })).toBeNull();
  });

  it('that is enrolled again is the same agent, and its old credential is dead at once', async () => {
    const first = await enrol();
    const again = await enrol();
    expect(again.agent).toEqual(first.agent);
    expect(await verifyAgent(cast.house.ctx, { token: first.credential })).toBeNull();
    expect((await ledgerOf('agent.enrolled')).map(({ level }) => level as string)).toEqual(['warning', 'warning']);
  });

  it('is no person, and a person’s token is no agent', async () => {
    const { credential, me } = await enrol();
    expect(await verifyLogin(cast.house.ctx, { token: credential })).toBeNull();
    for (const verb of [
      () => requestElevation(me, { role: 'reader', reason: 'x' }),
      () => listSessions(me),
      () => listLogs(me, {}),
    ]) {
      await expect(verb()).rejects.toMatchObject({ code: 'unauthenticated' });
    }
    await expect(registerAgent(cast.ada, { environment })).rejects.toMatchObject({ code: 'forbidden' });
    await expect(reportAgent(cast.ada, 'preflight', {})).rejects.toMatchObject({ code: 'forbidden' });
    await expect(registerAgent(cast.house.operator(), { environment })).rejects.toMatchObject({
      code: 'unauthenticated',
    });
  });

  it('is seen when it comes, about once a minute', async () => {
    const { credential, agent } = await enrol();
    const seen = async () =>
      (await cast.house.database.sql`select seen_at from agents where id = ${agent.id}`)[0]?.seen_at as Date;
    expect((await seen()).toISOString()).toBe('2026-03-01T10:00:00.000Z');
    await cast.house.database.advance(30 * second);
    await verifyAgent(cast.house.ctx, { token: credential });
    expect((await seen()).toISOString()).toBe('2026-03-01T10:00:00.000Z');
    await cast.house.database.advance(31 * second);
    await verifyAgent(cast.house.ctx, { token: credential });
    expect((await seen()).toISOString()).toBe('2026-03-01T10:01:01.000Z');
  });
});

describe('a credential of the agent’s own', () => {
  it('takes the place of the one it was enrolled with, for a year, and is voided by another enrolment', async () => {
    const { me, credential, agent } = await enrol();
    const own = `belay-agent.${'o'.repeat(43)}`;
    const { expires_at } = await adoptCredential(me, { presented: credential, credential: own });
    expect(expires_at).toBe('2027-03-02T10:00:00.000Z');
    const known = (token: string) => verifyAgent(cast.house.ctx, { token });
    expect([await known(credential), await known(own)]).toEqual([
      null,
      { kind: 'agent', id: agent.id, name: agent.name },
    ]);
    await enrol();
    expect(await known(own)).toBeNull();
    const short = adoptCredential(me, { presented: own, credential: 'short' });
    await expect(short).rejects.toMatchObject({ code: 'invalid' });
  });

  it('that was recognised by a credential which is replaced meanwhile cannot put its own in the place of the new one', async () => {
    const stolen = await enrol();
    const { credential } = await enrol();
    const own = `belay-agent.${'o'.repeat(43)}`;
    const late = adoptCredential(stolen.me, { presented: stolen.credential, credential: own });
    await expect(late).rejects.toMatchObject({ code: 'unauthenticated' });
    expect(await verifyAgent(cast.house.ctx, { token: own })).toBeNull();
    expect(await verifyAgent(cast.house.ctx, { token: credential })).not.toBeNull();
  });

  it('of two that use a credential at once has one that was taken', async () => {
    const { me, credential } = await enrol();
    const taken = await Promise.allSettled(
      ['a', 'b', 'c'].map((letter) =>
        adoptCredential(me, { presented: credential, credential: `belay-agent.${letter.repeat(43)}` }),
      ),
    );
    expect(taken.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected']);
  });

  it('is enrolled again within a year, however often it replaces its credential', async () => {
    const { me, credential } = await enrol();
    const credentials = ['a', 'b', 'c'].map((letter) => `belay-agent.${letter.repeat(43)}`);
    let presented = credential;
    for (const next of credentials) {
      const { expires_at } = await adoptCredential(me, { presented, credential: next });
      expect(expires_at).toBe('2027-03-02T10:00:00.000Z');
      presented = next;
      await cast.house.database.advance(100 * 24 * 60 * minute);
    }
  });
});

describe('registration', () => {
  it('gives exactly what is documented: every enabled definition', async () => {
    const { me } = await enrol();
    const answer = await registerAgent(me, { environment });
    expect(Object.keys(answer).sort()).toEqual([
      'catalog_version',
      'providers',
      'roles',
      'services',
      'signature',
      'success',
      'workflows',
    ]);
    expect(answer).toMatchObject({
      success: true,
      services: {
        workflow_engine: { enabled: true, namespace: 'belay', task_queue: 'executions' },
        llm: { enabled: true, provider: 'anthropic' },
      },
    });
    expect(Object.keys(answer.roles.definitions)).toEqual(['keeper', 'reader']);
    expect(answer.roles.definitions.reader).toEqual({
      name: 'reader',
      description: 'May read',
      providers: ['memory'],
      workflows: ['approved', 'automatic', 'secretive'],
      enabled: true,
      permissions: { groups: ['engineers'] },
      max_duration: 'PT8H',
      default_duration: 'PT1H',
      reason: { required: true },
    });
    expect(answer.providers.definitions).toEqual({
      login: expect.objectContaining({ name: 'login', capabilities: ['authenticator'] }),
      memory: expect.objectContaining({ name: 'memory', provider: 'memory', enabled: true }),
      vault: {
        name: 'Key of …',
        provider: 'vendor',
        description: '',
        enabled: true,
        capabilities: ['authorizer'],
      },
    });
    expect(answer.workflows.definitions.secretive).toEqual({
      name: 'secretive',
      description: expect.any(String),
      enabled: true,
      steps: [
        { name: 'ask', path: '/do/0/ask', task: 'call', call: 'http' },
        { name: 'maybe', path: '/do/1/maybe', task: 'try' },
        { name: 'grant', path: '/do/1/maybe/try/0/grant', task: 'call', call: 'access.grant' },
        { name: 'note', path: '/do/1/maybe/catch/do/0/note', task: 'set' },
        { name: 'both', path: '/do/2/both', task: 'fork' },
        { name: 'hold', path: '/do/2/both/fork/branches/0/hold', task: 'call', call: 'access.hold' },
        { name: 'pause', path: '/do/2/both/fork/branches/1/pause', task: 'wait' },
      ],
    });
  });

  it('has no secret in it: no value of a configuration, no reference, no token', async () => {
    const { me, credential } = await enrol();
    const text = JSON.stringify(await registerAgent(me, { environment }));
    expect(text).toContain('keeper');
    for (const forbidden of [secret, '${', 'env:', 'vault:', credential, 'api_key', 'config', 'account']) {
      expect(text).not.toContain(forbidden);
    }
  });

  it('repeated changes nothing but what the agent says of itself, at once or later', async () => {
    const { me, agent } = await enrol();
    const first = await registerAgent(me, { environment });
    await cast.house.database.advance(minute);
    expect(await together(Array.from({ length: 5 }, () => registerAgent(me, { environment })))).toEqual(
      Array.from({ length: 5 }, () => 'ok'),
    );
    expect(await registerAgent(me, { environment })).toEqual(first);
    const read = () => cast.house.database.sql`select * from agents`;
    expect([...(await read())]).toMatchObject([
      {
        id: agent.id,
        environment: 'build-3',
        catalog_version: '1',
        registered_at: new Date('2026-03-01T10:00:00.000Z'),
        seen_at: new Date('2026-03-01T10:01:00.000Z'),
      },
    ]);
    expect(await ledgerOf('agent.registered')).toHaveLength(1);
    const { document } = cast.house.catalog.current();
    await cast.house.applyCatalog({ ...document, server: { ...document.server, max_duration: 'PT2H' } });
    const next = await registerAgent(me, { environment: { ...environment, description: 'Moved upstairs' } });
    expect(next.roles.definitions.reader?.max_duration).toBe('PT2H');
    expect([...(await read())]).toMatchObject([{ description: 'Moved upstairs', catalog_version: '2' }]);
    expect(await readSync(me)).toMatchObject({ catalog_version: '1.0.2' });
  });

  it('takes no endless or broken text', async () => {
    const { me } = await enrol();
    for (const wrong of [
      { name: 'x'.repeat(201), description: '' },
      { name: 'a\0b', description: '' },
      { name: 'x', description: '\ud800' },
    ]) {
      await expect(registerAgent(me, { environment: wrong })).rejects.toMatchObject({ code: 'invalid' });
    }
  });
});

describe('preflight and postflight', () => {
  it('are taken, judged and recorded as the agent’s', async () => {
    const { me, agent } = await enrol();
    const checks = [
      { name: 'clock', ok: true },
      { name: 'disk', ok: false, message: 'full' },
    ];
    expect(await reportAgent(me, 'preflight', { environment, checks })).toMatchObject({
      success: false,
      version: '0.1.0 (git: test)',
      catalog_version: '1.0.1',
      current: false,
    });
    expect(await reportAgent(me, 'postflight', { catalog_version: '1.0.1' })).toMatchObject({
      success: true,
      current: true,
    });
    expect(await ledgerOf('agent.preflight')).toMatchObject([
      { level: 'warning', actor: { kind: 'agent', id: agent.id }, user_id: null, data: { environment, checks } },
    ]);
    expect(await ledgerOf('agent.postflight')).toMatchObject([{ level: 'info' }]);
  });
});
