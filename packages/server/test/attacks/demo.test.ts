import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTestDatabase } from '@belay/testkit/database';
import { send } from '@belay/testkit/serve';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Folder, makeFolder, refuseHere, type ServerHere, startHere } from '../start/server-process.js';

/** Attacks from other machines on a running demo, whose people have no passwords. */

interface Settings {
  base_url: string;
  issuer: string;
  control: { url: string; secret: string };
}

let folder: Folder;
let server: ServerHere;
let settings: Settings;
beforeAll(async () => {
  folder = await makeFolder();
  server = startHere(folder.path, { BELAY_WORKER: 'off' });
  await server.says('rita@example.com');
  settings = JSON.parse(await readFile(join(folder.path, '.belay', 'demo.json'), 'utf8')) as Settings;
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

/** Each listener of the demo: its name, an address, and the status that this machine gets there. */
const doors = (): [string, string, number][] => [
  ['Belay', `${settings.base_url}/ready`, 200],
  ['the interface', `${settings.base_url}/api/v1/auth/whoami`, 401],
  ['the identity provider', `${settings.issuer}/.well-known/openid-configuration`, 200],
  ['the control of the workers', `${settings.control.url}/workers`, 405],
];
const bearer = () => ({ authorization: `Bearer ${settings.control.secret}` });

describe('a demo', () => {
  it('is there for this machine, under each of its names', async () => {
    for (const [door, url, status] of doors()) {
      const { port } = new URL(url);
      const answer = await send(url, { headers: { host: `127.0.0.1:${port}`, ...bearer() } });
      expect([door, answer.status]).toEqual([door, status]);
    }
    const { port } = new URL(settings.base_url);
    for (const host of [`localhost:${port}`, `[::1]:${port}`, 'localhost']) {
      expect([host, (await send(`${settings.base_url}/ready`, { headers: { host } })).status]).toEqual([host, 200]);
    }
  });

  it.each(['rebound.example', '10.0.0.5', '127.0.0.1.example', 'localhost.example', '0.0.0.0', '169.254.169.254'])(
    'is not there for a page whose name leads here: Host %s',
    async (name) => {
      for (const [door, url] of doors()) {
        const { port } = new URL(url);
        const answer = await send(url, { headers: { host: `${name}:${port}`, ...bearer() } });
        expect([door, answer.status]).toEqual([door, 421]);
      }
    },
  );

  it.each([
    ['X-Forwarded-For', '203.0.113.9'],
    ['X-Forwarded-Host', 'belay.example.com'],
    ['X-Forwarded-Proto', 'https'],
    ['X-Real-IP', '203.0.113.9'],
    ['Forwarded', 'for=203.0.113.9'],
    ['Via', '1.1 proxy'],
  ])('is not there behind a proxy on this machine, which says %s', async (header, value) => {
    for (const [door, url] of doors()) {
      const answer = await send(url, { headers: { host: new URL(url).host, [header]: value, ...bearer() } });
      expect([door, answer.status]).toEqual([door, 421]);
    }
  });
});

describe('a start of the demo that others could reach', () => {
  it.each([
    ['HOST', '0.0.0.0'],
    ['HOST', '::'],
    ['BELAY_BASE_URL', 'https://belay.example.com'],
    ['BELAY_TRUST_PROXY', '1'],
  ])('is rejected on one line that names %s=%s and the cure', async (variable, value) => {
    await using place = await makeFolder();
    await using database = await createTestDatabase();
    const external = { DATABASE_URL: database.url, BELAY_SECRET: 'a secret for tests that is long enough' };
    const { code, stderr, stdout } = await refuseHere(place.path, { ...external, [variable]: value });
    expect(code).toBe(1);
    const [line, rest] = stderr.split('\n');
    expect(line).toMatch(
      new RegExp(`^belay: ${variable} is "${value}": the demo, .* is for this machine only.*belay.yaml`),
    );
    expect([rest, stdout]).toEqual(['', '']);
  });
});
