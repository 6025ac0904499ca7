import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { digestOf } from '@belay/contract/canonical';
import { applyCatalog, createKeyring, type Keyring, signForAgents } from '@belay/core';
import { clock, delay } from '@belay/program';
import { createRegistry, oidcConnector } from '@belay/providers';
import { createMemoryConnector } from '@belay/providers/testkit';
import { type Middle, serveText, standBetween } from '@belay/testkit/middle';
import { keepLines } from '@belay/testkit/serve';
import { createWorld, type World } from '@belay/testkit/world';
import { sql } from 'drizzle-orm';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { makeCertificate } from '../../providers/test/support/certificate.js';
import { readKeptConfiguration } from '../src/configuration-file.js';
import { enrolAgent } from '../src/enrol.js';
import { createFiles, type Files } from '../src/files.js';
import { followServer } from '../src/follow.js';
import { readIdentity } from '../src/identity.js';
import { createLocalLedger } from '../src/open-machine.js';
import { readAgentStatus } from '../src/status.js';
import { openUpstream } from '../src/upstream.js';
import { type Local, makeCredential, startLocal } from './support/local.js';

let world: World;
let middle: Middle;
let local: Local;
let count = 0;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world?.[Symbol.asyncDispose]());
beforeEach(async () => {
  middle = await standBetween(world.url);
  local = await startLocal(
    { url: middle.url },
    { mode: 'agent', credential: await makeCredential(world, `follow-${++count}`) },
  );
  await local.agent.sync();
});
afterEach(async () => {
  await local[Symbol.asyncDispose]();
  await middle[Symbol.asyncDispose]();
});

/** Puts another configuration, with a new version, in force at the server. */
async function change(description: string): Promise<string> {
  const { document } = world.context.catalog.current();
  const roles = { ...document.roles, reader: { ...document.roles.reader, description } };
  const connectors = createRegistry([oidcConnector, createMemoryConnector(world.store)]);
  await applyCatalog(
    world.context.db,
    { document: { ...document, roles }, source: 'test' },
    { connectors, resolve: () => undefined },
  );
  await (world.context.catalog as unknown as { refresh(): Promise<void> }).refresh();
  return `1.0.${world.context.catalog.current().version}`;
}

const health = async () =>
  (await local.call('GET', '/health')).json as {
    status: string;
    configuration: Record<string, string>;
    clock?: string;
  };
const version = async () => (await health()).configuration.version;

describe('the configuration of an agent', () => {
  it('is the server’s, replaced whole when that has a newer one, and reported', async () => {
    const newer = await change('Read it all');
    expect(await version()).not.toBe(newer);
    await local.agent.sync();
    expect(await health()).toMatchObject({ status: 'healthy', configuration: { version: newer, server: 'reachable' } });
    expect(middle.calls.slice(-3)).toEqual([
      'configuration.sync',
      'configuration.register',
      'configuration.postflight',
    ]);
    await local.agent.sync();
    expect(middle.calls.at(-1)).toBe('configuration.sync');
    await local.signIn('requester');
    const { json } = await local.call('GET', '/roles');
    expect(json).toMatchObject({ version: newer, roles: { reader: { role: { description: 'Read it all' } } } });
  });

  it('is not replaced by one that was tampered with, is unsigned, or is signed by another key', async () => {
    const before = await version();
    await change('Something newer');
    const attacks: [string, (data: Record<string, unknown>) => unknown][] = [
      ['is not valid', (data) => ({ ...data, roles: { definitions: {} } })],
      ['is not valid', (data) => ({ ...data, more: 'than was signed' })],
      ['not signed', ({ signature: _none, ...data }) => data],
      [
        'has not announced',
        (data) => ({ ...data, signature: { ...(data.signature as object), key: { kid: 'other', x: 'AAAA' } } }),
      ],
    ];
    for (const [why, attack] of attacks) {
      middle.mangle = (procedure, data) => (procedure === 'configuration.register' ? attack(data) : undefined);
      await local.agent.sync();
      expect([why, await version()]).toEqual([why, before]);
      expect((await health()).configuration.server).toContain(why);
    }
  });

  it('never goes back to an older configuration, even when it is replayed', async () => {
    const answers: Record<string, Record<string, unknown>> = {};
    await change('Two');
    middle.mangle = (procedure, data) => {
      answers[procedure] ??= data;
    };
    await local.agent.sync();
    const older = await version();
    middle.mangle = undefined;
    const newer = await change('Three');
    await local.agent.sync();
    expect(await version()).toBe(newer);
    middle.mangle = (procedure) => answers[procedure];
    await local.agent.sync();
    expect([await version(), older === newer]).toEqual([newer, false]);
    expect((await health()).configuration.server).toContain('is older than the stored version');
    // The server announces a newer version and then sends the old configuration, which is rejected.
    middle.mangle = (procedure) => (procedure === 'configuration.register' ? answers[procedure] : undefined);
    await change('Four');
    await local.agent.sync();
    expect(await version()).toBe(newer);
  });

  it('follows a new key that the one before announced, and no other', async () => {
    const keyring = world.context.keyring as { -readonly [K in keyof Keyring]: Keyring[K] };
    const before = { current: keyring.current, secrets: keyring.secrets };
    const [old] = [...before.secrets.values()].map((secret) => Buffer.from(secret).toString());
    Object.assign(keyring, createKeyring([randomBytes(32).toString('hex'), old ?? '']));
    const newer = await change('After the rotation');
    await local.agent.sync();
    expect(await health()).toMatchObject({ configuration: { version: newer, server: 'reachable' } });
    const { json } = await local.call('GET', '/logs?type=key.rotated');
    expect(json.logs).toHaveLength(1);
    // The old secret is gone: agents that followed continue, and a key that was not announced is rejected.
    Object.assign(keyring, createKeyring([Buffer.from([...keyring.secrets.values()][0] ?? []).toString()]));
    await local.agent.sync();
    expect((await health()).configuration.server).toBe('reachable');
    const kept = { current: keyring.current, secrets: keyring.secrets };
    Object.assign(keyring, createKeyring([randomBytes(32).toString('hex')]));
    await local.agent.sync();
    expect((await health()).configuration.server).toContain('has not announced');
    Object.assign(keyring, kept);
  });

  it('is still accepted after a restart without the server when only the secret was rotated', async () => {
    const before = await version();
    const keyring = world.context.keyring as { -readonly [K in keyof Keyring]: Keyring[K] };
    const kept = { current: keyring.current, secrets: keyring.secrets };
    const secrets = [...kept.secrets.values()].map((secret) => Buffer.from(secret).toString());
    Object.assign(keyring, createKeyring([randomBytes(32).toString('hex'), ...secrets]));
    await local.agent.sync();
    Object.assign(keyring, kept);
    expect((await local.call('GET', '/logs?type=key.rotated')).json.logs).toHaveLength(1);
    await local.agent.stop();
    middle.state = 'away';
    await using again = await startLocal({ url: middle.url }, { mode: 'agent', dataDirectory: local.folder });
    expect((await again.call('GET', '/ready')).json).toMatchObject({
      status: 'ready',
      configuration: { version: before, confirmed_at: null },
    });
  });

  it('stays in force while the server is away, with its age, and over a restart', async () => {
    const before = await version();
    middle.state = 'away';
    await local.agent.sync();
    expect(await health()).toMatchObject({
      status: 'degraded',
      configuration: {
        version: before,
        age: expect.stringMatching(/^PT/),
        server: expect.stringContaining('cannot be reached'),
      },
    });
    expect((await local.call('GET', '/ready')).json).toMatchObject({
      status: 'ready',
      configuration: { version: before },
    });
    await local.agent.stop();
    await using again = await startLocal({ url: middle.url }, { mode: 'agent', dataDirectory: local.folder });
    expect((await again.call('GET', '/ready')).json).toMatchObject({
      status: 'ready',
      configuration: { version: before, confirmed_at: null },
    });
    middle.state = 'there';
    await again.agent.sync();
    expect((await again.call('GET', '/health')).json).toMatchObject({ status: 'healthy' });
  });

  it('tolerates what a newer server adds, and says what an older one lacks', async () => {
    // Signs the response again, like a newer server: the digest covers all fields, also unknown ones.
    const sign = async ({ signature: _old, ...rest }: Record<string, unknown>) => ({
      ...rest,
      signature: await signForAgents(
        world.context,
        { kind: 'configuration', version: rest.catalog_version, digest: digestOf(rest) },
        clock(),
      ),
    });
    const newer = await change('Known to both');
    middle.mangle = (procedure, data) =>
      procedure === 'configuration.register' ? sign({ ...data, invented: { since: 'later' } }) : undefined;
    await local.agent.sync();
    expect(await version()).toBe(newer);
    await change('From the past');
    middle.mangle = (procedure, { roles: _none, ...data }) =>
      procedure === 'configuration.register' ? sign(data) : undefined;
    await local.agent.sync();
    expect(await version()).toBe(newer);
    expect((await health()).configuration.server).toContain('roles');
  });

  it('is replaced when the same version came to mean something else, as after a restore', async () => {
    await local.signIn('requester');
    const before = await version();
    const digest = { of: '' };
    middle.mangle = async (procedure, { signature: _old, ...data }) => {
      const { catalog_version: named } = data;
      if (procedure === 'configuration.register') {
        const text = JSON.stringify(data).replace('"description":"', '"description":"Restored: ');
        const other = JSON.parse(text) as Record<string, unknown>;
        digest.of = digestOf(other);
        const statement = { kind: 'configuration', version: named, digest: digest.of };
        return { ...other, signature: await signForAgents(world.context, statement, clock()) };
      }
      if (procedure !== 'configuration.sync') return undefined;
      const statement = { kind: 'sync', version: named, timestamp: data.timestamp, digest: digest.of };
      return { ...data, signature: await signForAgents(world.context, statement, clock()) };
    };
    await local.agent.sync();
    expect(await version()).toBe(before);
    expect(JSON.stringify((await local.call('GET', '/roles')).json)).toContain('Restored: ');
    // The configuration is not requested a second time.
    const asked = middle.calls.length;
    await local.agent.sync();
    expect(middle.calls.slice(asked)).not.toContain('configuration.register');
  });

  it('is requested again when the copy on the disk was changed by hand', async () => {
    const before = await version();
    await local.agent.stop();
    const path = join(local.folder, 'configuration.json');
    await writeFile(path, (await readFile(path, 'utf8')).replace('"enabled":true', '"enabled":false'));
    middle.state = 'away';
    const alone = await startLocal({ url: middle.url }, { mode: 'agent', dataDirectory: local.folder });
    expect((await alone.call('GET', '/ready')).status).toBe(503);
    middle.state = 'there';
    await alone.agent.sync();
    expect((await alone.call('GET', '/ready')).json).toMatchObject({ configuration: { version: before } });
    await alone.agent.stop();
  });
});

describe('a clock that is wrong by an hour, and a disk that is full', () => {
  async function follow(tools: { ahead?: number; files?: Files; patience?: number }) {
    await local.agent.stop();
    const { log } = keepLines();
    const files = tools.files ?? createFiles(() => 'test');
    const found = await readIdentity(local.folder, files);
    if (!found?.key) throw new Error('not enrolled');
    const identity = { ...found, key: found.key };
    const now = () => new Date(clock().getTime() + (tools.ahead ?? 0));
    return followServer({
      folder: local.folder,
      files,
      identity,
      kept: await readKeptConfiguration({ folder: local.folder, files, log }, identity.key),
      upstream: openUpstream(middle.url, { patience: tools.patience }),
      sessions: {
        all: () => [],
        put: async () => {},
        remove: async () => false,
        replace: async () => false,
        health: () => 'healthy',
      },
      ledger: createLocalLedger(now),
      log,
      environment: { name: 'test', description: '' },
      programVersion: '0.1.0',
      interval: 1000,
      clock: now,
      random: () => 0.5,
      delay,
    });
  }

  it.each([3_600_000, -3_600_000])('measures what it is off by (%d ms) and goes on', async (ahead) => {
    const following = await follow({ ahead });
    const newer = await change(`With a clock off by ${ahead}`);
    await following.sync();
    expect(following.source.current()?.catalog_version).toBe(newer);
    expect(Math.abs(following.skew() - ahead)).toBeLessThan(60_000);
  });

  it('keeps the last configuration, on disk and in force, when the new one cannot be written', async () => {
    const files = createFiles(() => 'test');
    let full = false;
    const following = await follow({
      files: {
        ...files,
        replace: async (path, content) => {
          if (full) throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' });
          await files.replace(path, content);
        },
      },
    });
    await following.sync();
    const before = following.source.current()?.catalog_version;
    const newer = await change('On a full disk');
    full = true;
    await following.sync();
    expect(following.source.current()?.catalog_version).toBe(before);
    full = false;
    await following.sync();
    expect(following.source.current()?.catalog_version).toBe(newer);
  });
});

describe('a server that does not answer as it should', () => {
  it('is told by its certificate, and nothing is asked of it', async () => {
    const { key, cert } = makeCertificate(['localhost']);
    const asked: string[] = [];
    const stranger = createServer({ key, cert }, (request, response) => {
      asked.push(request.url ?? '');
      response.end('{}');
    });
    await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve));
    const { port } = stranger.address() as AddressInfo;
    const upstream = openUpstream(`https://localhost:${port}`);
    await expect(upstream.sync('belay-agent.x')).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('this machine does not trust the server'),
    });
    expect(asked).toEqual([]);
    stranger.closeAllConnections();
    await new Promise((resolve) => stranger.close(resolve));
  });

  it('is given up when it is slow, and is no Belay when it answers something else', async () => {
    middle.state = 'silent';
    await expect(openUpstream(middle.url, { patience: 50 }).sync('x')).rejects.toMatchObject({
      code: 'unavailable',
      message: 'the server did not respond in time',
    });
    // A request without a response does not keep an agent from stopping.
    const asking = local.agent.sync();
    await local.agent.stop();
    middle.state = 'away';
    await using page = await serveText('<h1>Sign in to the hotel’s network</h1>');
    await expect(openUpstream(page.url).sync('x')).rejects.toMatchObject({ code: 'unavailable' });
    middle.hangUp();
    await asking;
  });
});

describe('sessions that were signed in here', () => {
  const loginsOf = () => world.context.db.execute<{ id: string }>(sql`select id from logins where kind = 'device'`);

  it('get their next version from the server', async () => {
    await local.signIn('requester');
    const before = (await local.call('GET', '/session/demo')).json;
    await world.context.db.execute(sql`update sessions set version = version + 1`);
    await local.agent.sync();
    const after = (await local.call('GET', '/session/demo')).json;
    expect(after).toMatchObject({ session: { version: 2 } });
    expect(after).not.toEqual(before);
  });

  it('end here when their login ends at the server, and stay while it is away', async () => {
    await local.signIn('requester');
    middle.state = 'away';
    await local.agent.sync();
    expect((await local.call('GET', '/session/demo')).status).toBe(200);
    middle.state = 'there';
    expect((await loginsOf()).length).toBeGreaterThan(0);
    await world.context.db.execute(sql`delete from logins where kind = 'device'`);
    await local.agent.sync();
    expect((await local.call('GET', '/session/demo')).status).toBe(404);
    expect((await local.call('GET', '/logs?type=session.ended')).json.logs).toHaveLength(1);
  });

  it('stay removed when a person removes one while its next version is on its way', async () => {
    await local.signIn('requester');
    await world.context.db.execute(sql`update sessions set version = version + 1`);
    middle.mangle = async (procedure) => {
      if (procedure === 'auth.session') await local.call('DELETE', '/session/demo');
      return undefined;
    };
    await local.agent.sync();
    expect(middle.calls).toContain('auth.session');
    expect((await local.call('GET', '/session/demo')).status).toBe(404);
  });

  it('stay when they are made while the server says that the one before has ended', async () => {
    await local.signIn('requester');
    middle.mangle = async (procedure, data) => {
      if (procedure !== 'sessions.list') return undefined;
      middle.mangle = undefined;
      await local.signIn('requester');
      return { ...data, sessions: {} };
    };
    await local.agent.sync();
    expect(middle.mangle).toBeUndefined();
    expect((await local.call('GET', '/session/demo')).status).toBe(200);
  });
});

describe('the folder of an agent', () => {
  it('is not tidied up by another one that finds it in use', async () => {
    const writing = join(local.folder, 'sessions.unfinished-x');
    await writeFile(writing, 'half');
    const second = { dataDirectory: local.folder, server: world.url, credential: 'x', name: 'test-machine' };
    await expect(startLocal(world, { mode: 'agent', dataDirectory: local.folder })).rejects.toThrow(
      /in use by another/,
    );
    await expect(enrolAgent(second)).rejects.toThrow(/in use by another/);
    expect(await readFile(writing, 'utf8')).toBe('half');
  });

  it('that cannot be one is said in a line, with its cure', async () => {
    const folder = join(local.folder, 'identity.json', 'agent');
    const cure = /identity\.json\/agent cannot be used \(ENOTDIR\): .*BELAY_DATA/;
    await expect(startLocal(world, { mode: 'agent', dataDirectory: folder })).rejects.toThrow(cure);
    await expect(enrolAgent({ dataDirectory: folder, server: world.url, credential: 'x' })).rejects.toThrow(cure);
    await expect(readAgentStatus(folder)).rejects.toThrow(cure);
  });
});

describe('an enrolment', () => {
  it('uses its credential up, and needs none at the next start', async () => {
    const credential = await makeCredential(world, 'once');
    const first = await startLocal(world, { mode: 'agent', credential });
    await first.agent.stop();
    await expect(startLocal(world, { mode: 'agent', credential })).rejects.toThrow('unknown, used or expired');
    // The used credential is still in the environment, as in a unit file.
    const again = await startLocal(world, { mode: 'agent', credential, dataDirectory: first.folder });
    expect((await again.call('GET', '/ready')).status).toBe(200);
    await again[Symbol.asyncDispose]();
  });

  it.each(['configuration.adopt', 'configuration.register'])(
    'goes on when the answer to %s was lost',
    async (procedure) => {
      await using cut = await standBetween(world.url);
      const folder = await mkdtemp(join(tmpdir(), 'belay-agent-cut-'));
      const options = {
        mode: 'agent',
        credential: await makeCredential(world, `cut-${procedure}`),
        dataDirectory: folder,
      } as const;
      cut.lose = procedure;
      await expect(startLocal({ url: cut.url }, options)).rejects.toThrow('could not be enrolled');
      cut.lose = undefined;
      const again = await startLocal({ url: cut.url }, options);
      expect((await again.call('GET', '/ready')).status).toBe(200);
      await again.agent.stop();
      await rm(folder, { recursive: true });
    },
  );

  it('that fails leaves the one before in force', async () => {
    const { agent, folder } = local;
    await agent.stop();
    const again = { dataDirectory: folder, server: middle.url, name: 'test-machine' };
    const unknown = `belay-agent.${randomBytes(32).toString('base64url')}`;
    await expect(enrolAgent({ ...again, credential: unknown })).rejects.toThrow(/unknown, used or expired/);
    middle.state = 'away';
    await expect(enrolAgent({ ...again, credential: unknown })).rejects.toThrow(/cannot be reached/);
    middle.state = 'there';
    await using restarted = await startLocal(middle, { mode: 'agent', dataDirectory: folder });
    await restarted.agent.sync();
    expect((await restarted.call('GET', '/health')).json).toMatchObject({ configuration: { server: 'reachable' } });
  });

  it('can be given up while the server says nothing, and gone on with', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'belay-agent-'));
    const credential = await makeCredential(world, `follow-${++count}`);
    const here = { dataDirectory: folder, credential, name: 'test-machine', server: middle.url };
    middle.state = 'silent';
    const impatient = new AbortController();
    const begun = enrolAgent({ ...here, signal: impatient.signal });
    impatient.abort();
    await expect(begun).rejects.toThrow(/aborted/);
    middle.state = 'there';
    middle.hangUp();
    expect(await enrolAgent(here)).toMatchObject({ server: middle.url });
    await rm(folder, { recursive: true, force: true });
  });

  it('that was tried at a wrong address can be had at the right one', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'belay-agent-'));
    const credential = await makeCredential(world, `follow-${++count}`);
    const here = { dataDirectory: folder, credential, name: 'test-machine' };
    await expect(enrolAgent({ ...here, server: 'http://127.0.0.1:9' })).rejects.toThrow(/cannot be reached/);
    expect(await enrolAgent({ ...here, server: world.url })).toMatchObject({ server: world.url });
    expect((await readdir(folder)).sort()).toEqual(['configuration.json', 'identity.json']);
    await rm(folder, { recursive: true, force: true });
  });

  it('fails at a server that is away, saying so, and at a folder of another server', async () => {
    middle.state = 'away';
    const credential = await makeCredential(world, 'away');
    await expect(startLocal({ url: middle.url }, { mode: 'agent', credential })).rejects.toThrow('cannot be reached');
    await local.agent.stop();
    await expect(
      startLocal({ url: 'http://127.0.0.1:9' }, { mode: 'agent', dataDirectory: local.folder }),
    ).rejects.toThrow('belongs to');
    await expect(startLocal({ url: middle.url }, { mode: 'agent' })).rejects.toThrow(
      'BELAY_AGENT_CREDENTIAL is not set',
    );
  });
});
