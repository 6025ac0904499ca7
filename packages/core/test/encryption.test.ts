import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { inspectSession } from '@belay/core';
import { openEncryptionService, type ServiceTools } from '@belay/providers';
import { createHouse, type House } from '@belay/testkit/house';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type HashicorpServer,
  hashicorpRole,
  hashicorpSettings,
  startHashicorpServer,
} from '../../providers/test/support/hashicorp-server.js';
import { createKeyring } from '../src/keyring.js';
import { createProbe } from '../src/probe.js';
import { readHealth } from '../src/system/health.js';
import type { KeyWrapping } from '../src/tokens/data-key.js';
import { type LiveKeyring, openKeyring } from '../src/tokens/open-keyring.js';
import { rotateEncryptionKey } from '../src/tokens/rotate-encryption-key.js';
import { open, seal } from '../src/tokens/seal.js';
import { goingAway } from './support/losing.js';

let house: House;
let kms: HashicorpServer;
let time = 0;
const opened: LiveKeyring[] = [];
const said: string[] = [];
const tools: ServiceTools = {
  delay: async () => {},
  randomBytes: (size) => randomBytes(size),
  now: () => Date.now(),
  timeout: 30_000,
};

beforeEach(async () => {
  said.length = 0;
  const log = { debug() {}, info() {}, error() {}, warn: (_: object, message: string) => void said.push(message) };
  house = await createHouse({ log });
  kms = await startHashicorpServer({ keys: ['belay', 'another'] });
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((keyring) => keyring.close()));
  await kms[Symbol.asyncDispose]();
  await house[Symbol.asyncDispose]();
});

/** Returns the service as a separate process has it. */
async function wrappingBy(key = 'belay'): Promise<KeyWrapping> {
  const config = { provider: 'hashicorp', address: kms.url, key, ...hashicorpSettings, ...hashicorpRole };
  const found = await openEncryptionService(config, tools);
  if (!found) throw new Error('no service');
  return found;
}

async function startProcess(
  options: { key?: string; secrets?: string[]; isAway?: () => boolean } = {},
): Promise<LiveKeyring> {
  const { ctx } = house;
  const db = goingAway(ctx.db, options.isAway ?? (() => false));
  const wrapping = await wrappingBy(options.key);
  const secrets = options.secrets ?? [];
  const delay = (milliseconds: number, signal?: AbortSignal) => wait(milliseconds, undefined, { signal });
  const keyring = await openKeyring({ db, log: ctx.log, wrapping, secrets, randomBytes, delay, now: () => time });
  opened.push(keyring);
  return keyring;
}

const now = new Date('2026-03-01T10:00:00.000Z');
const hour = 60 * 60_000;
const sealed = (keyring: Parameters<typeof seal>[0]) =>
  seal(keyring, 'session', { of: 'ada' }, { now, lifetime: hour });
const opens = (keyring: Parameters<typeof open>[0], token: string) => open(keyring, 'session', token, now);
const rotate = async () => rotateEncryptionKey(house.operator(), { wrapping: await wrappingBy() });
const rows = () => house.database.sql`select * from encryption_keys order by created_at, kid`;

describe('a keyring that a key management service guards', () => {
  it('is one for all: of many that start first together, all use the same key', async () => {
    const keyrings = await Promise.all(Array.from({ length: 6 }, () => startProcess()));
    expect(new Set(keyrings.map(({ current }) => current)).size).toBe(1);
    expect(await rows()).toHaveLength(1);
    const [first, ...others] = keyrings;
    if (!first) throw new Error('none');
    const token = await sealed(first);
    for (const other of others) expect(await opens(other, token)).toEqual({ of: 'ada' });
  });

  it('keeps the key wrapped only: nothing in the database opens what it sealed', async () => {
    const keyring = await startProcess();
    const material = keyring.secrets.get(keyring.current);
    if (!material) throw new Error('no key');
    const [row] = await rows();
    const kept = Buffer.from(row?.wrapped as Uint8Array);
    expect(kept.toString('utf8')).toMatch(/^vault:v1:/);
    for (const form of ['hex', 'base64', 'base64url', 'latin1'] as const) {
      const text = Buffer.from(material).toString(form);
      for (const written of [kept.toString('latin1'), JSON.stringify(row)]) expect(written).not.toContain(text);
    }
    await expect(opens(createKeyring([kept.toString('base64')]), await sealed(keyring))).rejects.toMatchObject({
      code: 'invalid',
    });
  });

  it('is rotated while processes run: they open what the new key sealed at once, seal with it when they look, and forget nothing', async () => {
    const running = await startProcess();
    const old = running.current;
    const before = await sealed(running);
    const rotation = await rotate();
    expect(rotation).toMatchObject({ retired: old });
    expect(running.current).toBe(old);
    const late = await sealed(running);

    const started = await startProcess();
    expect(started.current).toBe(rotation.kid);
    const after = await sealed(started);
    for (const token of [before, late, after]) {
      expect(await opens(running, token)).toEqual({ of: 'ada' });
      expect(await opens(started, token)).toEqual({ of: 'ada' });
    }
    await running.refresh();
    expect(running.current).toBe(rotation.kid);
    expect((await rows()).map(({ kid, retired_at }) => [kid, retired_at === null])).toEqual(
      expect.arrayContaining([
        [old, false],
        [rotation.kid, true],
      ]),
    );
  });

  it('is rotated by operators only, in the ledger, and one rotation at a time', async () => {
    await startProcess();
    const ada = await house.person('ada');
    await expect(rotateEncryptionKey(ada, { wrapping: await wrappingBy() })).rejects.toMatchObject({
      code: 'forbidden',
    });
    const rotations = await Promise.all([rotate(), rotate(), rotate()]);
    expect(new Set(rotations.map(({ kid }) => kid)).size).toBe(3);
    expect((await rows()).filter(({ retired_at }) => retired_at === null)).toHaveLength(1);
    const ledger = await house.database.sql`select * from ledger where type = 'encryption.rotated'`;
    expect(ledger).toHaveLength(3);
    expect(ledger[0]).toMatchObject({ level: 'warning', actor: { kind: 'operator' } });
  });

  it('opens what BELAY_SECRET sealed before there was a service, and seals nothing with it', async () => {
    const secret = 'the secret that was there before, long enough';
    const before = await sealed(createKeyring([secret]));
    const keyring = await startProcess({ secrets: [secret] });
    expect(await opens(keyring, before)).toEqual({ of: 'ada' });
    await expect(opens(createKeyring([secret]), await sealed(keyring))).rejects.toMatchObject({ code: 'invalid' });
  });

  it('does not start without its service, and goes on without it once it has started', async () => {
    const keyring = await startProcess();
    const token = await sealed(keyring);
    kms.mood = 'unavailable';
    await expect(startProcess()).rejects.toMatchObject({ name: 'Retryable' });
    kms.mood = 'forbidden';
    await expect(startProcess()).rejects.toMatchObject({ name: 'Terminal' });
    await expect(rotate()).rejects.toMatchObject({ code: 'unavailable' });
    expect(await opens(keyring, token)).toEqual({ of: 'ada' });
    expect(await opens(keyring, await sealed(keyring))).toEqual({ of: 'ada' });
    expect(await rows()).toHaveLength(1);
  });

  it('takes no key that another person put there, however it was wrapped', async () => {
    await startProcess();
    const { service } = await wrappingBy();
    const planted = await service.wrap(randomBytes(32), new AbortController().signal);
    await house.database.sql`update encryption_keys set wrapped = ${Buffer.from(planted.wrapped)}`;
    await expect(startProcess()).rejects.toThrow('differs from the key that was wrapped');
  });

  it('says that a retired key cannot be unwrapped, and starts', async () => {
    const before = await sealed(await startProcess());
    await rotate();
    await house.database.sql`update encryption_keys set wrapped = 'vault:v1:AAAA'::bytea where retired_at is not null`;
    const keyring = await startProcess();
    expect(said).toContain('a retired key cannot be unwrapped: tokens that it sealed cannot be opened');
    await expect(opens(keyring, before)).rejects.toMatchObject({ code: 'invalid' });
  });

  it('with another key of the service is another keyring, and says what that costs', async () => {
    const before = await sealed(await startProcess());
    const keyring = await startProcess({ key: 'another' });
    expect(said.join()).toContain('keys that another service or key wrapped are left out');
    await expect(opens(keyring, before)).rejects.toMatchObject({ code: 'invalid' });
    expect((await rows()).filter(({ retired_at }) => retired_at === null)).toHaveLength(2);
  });

  it('asks no service for a key that is in no row, and not again and again for one that cannot be unwrapped', async () => {
    const keyring = await startProcess();
    kms.asked.length = 0;
    for (const kid of ['AAAAAAAA', 'short', `x'; drop table`, '__proto__']) {
      expect(await keyring.find(kid)).toBeUndefined();
    }
    expect(kms.asked).toEqual([]);
    const { kid } = await rotate();
    kms.mood = 'unavailable';
    kms.asked.length = 0;
    await expect(keyring.find(kid)).rejects.toMatchObject({ code: 'unavailable' });
    const asked = kms.asked.length;
    await expect(keyring.find(kid)).rejects.toMatchObject({ code: 'unavailable' });
    expect(kms.asked).toHaveLength(asked);
    kms.mood = 'well';
    time += 60_000;
    expect(await keyring.find(kid)).toHaveLength(32);
  });
});

it('rejects no token of a key that cannot be read while the database is away', async () => {
  let away = false;
  const keyring = await startProcess({ isAway: () => away });
  await rotate();
  const token = await sealed(await startProcess());
  away = true;
  await expect(opens(keyring, token)).rejects.toMatchObject({ code: 'unavailable' });
  const ctx = { ...house.ctx, keyring };
  await expect(inspectSession(ctx, { session: token })).rejects.toMatchObject({ code: 'unavailable' });
  away = false;
  expect(await opens(keyring, token)).toEqual({ of: 'ada' });
});

describe('the health of encryption', () => {
  const ask = (ctx: Parameters<typeof readHealth>[0]) =>
    readHealth(ctx, { path: '/health', scheduler: async () => 'healthy' });

  it('is that of the local keyring: healthy with a key, unhealthy without', async () => {
    expect((await ask(house.ctx)).services.encryption).toBe('healthy');
    const broken = await ask({ ...house.ctx, keyring: { current: 'none', secrets: new Map() } });
    expect([broken.status, broken.services.encryption]).toEqual(['unhealthy', 'unhealthy']);
  });

  it('is degraded while its service does not answer or rejects, asked at most every half minute', async () => {
    const keyring = await startProcess();
    const { service } = await wrappingBy();
    const { log } = house.ctx;
    const health = createProbe({ name: 'the service', check: (signal) => service.check(signal), log, now: () => time });
    const ctx = { ...house.ctx, keyring, encryption: { health } };
    const look = async () => {
      const { status, services } = await ask(ctx);
      return [status, services.encryption];
    };
    expect(await look()).toEqual(['healthy', 'healthy']);
    kms.mood = 'unavailable';
    expect(await look()).toEqual(['healthy', 'healthy']);
    time += 30_000;
    expect(await look()).toEqual(['degraded', 'degraded: it does not respond']);
    kms.mood = 'forbidden';
    time += 30_000;
    expect(await look()).toEqual(['degraded', 'degraded: it rejects the request']);
    kms.mood = 'silent';
    time += 30_000;
    expect((await look())[0]).toBe('degraded');
    kms.mood = 'well';
    time += 30_000;
    expect(await look()).toEqual(['healthy', 'healthy']);
  });

  it('waits for no service that never responds', async () => {
    const { log } = house.ctx;
    const never = () => new Promise<never>(() => {});
    const health = createProbe({ name: 'the vault', check: never, log, now: () => time });
    const stuck = await ask({ ...house.ctx, vault: { configured: () => true, health }, encryption: { health } });
    expect([stuck.status, stuck.services.vault, stuck.services.encryption]).toEqual([
      'degraded',
      'degraded: it does not respond',
      'degraded: it does not respond',
    ]);
    // A check that has no limit of its own is ended by the limit of /health.
    const late = await ask({ ...house.ctx, vault: { configured: () => true, health: never } });
    expect([late.status, late.services.vault]).toEqual(['degraded', 'unhealthy: no response in time']);
    expect(said).toContain('the vault is not healthy');
  });
});
