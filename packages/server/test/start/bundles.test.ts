import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startTestServer, type TestServer } from '../demo/test-server.js';
import { makeFolder, startProcess } from './server-process.js';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const loader = fileURLToPath(new URL('load-bundle.mjs', import.meta.url));

interface Loaded {
  failed: string[];
  hollow: string[];
  undici: [file: string, names: string[]][];
}

async function load(folder: string): Promise<Loaded> {
  const { stdout } = await promisify(execFile)(process.execPath, [loader, join(root, folder)], { maxBuffer: 2 ** 24 });
  return JSON.parse(stdout) as Loaded;
}

/** Other tests load libraries from node_modules, but the programs load them from their bundles. */
describe.each(['apps/server/bundle', 'apps/demo/bundle', 'apps/cli/bundle', 'apps/cli/bundle/apart'])(
  '%s',
  (folder) => {
    it('has no file that cannot be loaded, and gives the names of each library as Node.js does', async () => {
      const { failed, hollow, undici } = await load(folder);
      expect({ failed, hollow }).toEqual({ failed: [], hollow: [] });
      for (const [file, names] of undici)
        expect([file, names]).toEqual([file, expect.arrayContaining(['Agent', 'fetch', 'Pool'])]);
    });
  },
);

describe('the bundled server', () => {
  const heard: string[] = [];
  let receiver: Server;
  let database: TestServer;
  beforeAll(async () => {
    receiver = createServer((request, response) => {
      heard.push(`${request.method} ${request.url}`);
      request.resume().on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
    }).listen(0, '127.0.0.1');
    [database] = await Promise.all([startTestServer(), once(receiver, 'listening')]);
    const sql = postgres(database.url('postgres'), { max: 1 });
    await sql`create role readers`;
    await sql`create role rita login`;
    await sql.end();
  });
  afterAll(async () => {
    receiver.closeAllConnections();
    receiver.close();
    await database.stop();
  });

  it('sends a message by webhook, and a request of a workflow', async () => {
    const host = `127.0.0.1:${(receiver.address() as AddressInfo).port}`;
    const configuration = {
      version: 1,
      server: { http_hosts: [{ host, allow_private: true }] },
      providers: {
        login: { provider: 'oidc', config: { issuer: 'https://id.example.com', client_id: 'belay' } },
        shop: {
          provider: 'postgres',
          share_connection: true,
          config: {
            url: database.url('postgres'),
            identity: { table: { 'rita@example.com': 'rita' } },
          },
        },
        hook: {
          provider: 'webhook',
          config: {
            url: `http://${host}/hook`,
            allow_private: true,
            secrets: [`whsec_${Buffer.alloc(32, 1).toString('base64')}`],
          },
        },
      },
      roles: { reader: { providers: ['shop'], inherits: ['shop:readers'], workflows: ['tell'] } },
      workflows: {
        tell: {
          workflow: {
            document: { dsl: '1.0.3', namespace: 'test', name: 'tell', version: '1.0.0' },
            do: [
              { say: { call: 'access.notify', with: { provider: 'hook', to: 'room', message: 'hello' } } },
              { ask: { call: 'http', with: { method: 'get', endpoint: `http://${host}/asked` } } },
            ],
          },
        },
      },
    };
    await using folder = await makeFolder({ 'belay.yaml': JSON.stringify(configuration) });
    const env = { DATABASE_URL: database.url('postgres'), BELAY_SECRET: 'a secret for tests that is long enough' };
    await using server = startProcess(folder.path, env, 'server');
    await server.says('is ready at');
    const [, address] = /is ready at (\S+)/.exec(server.stdout()) ?? [];
    const command = [
      join(root, 'apps/cli/bundle/main.js'),
      'token',
      'create',
      '--user',
      'rita@example.com',
      '--ttl',
      'PT1H',
    ];
    const { stdout: token } = await promisify(execFile)(process.execPath, command, {
      cwd: folder.path,
      env: { PATH: process.env.PATH, HOME: folder.path, ...env },
    });
    const answer = await fetch(`${address}/api/v1/elevate`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token.trim()}`, 'content-type': 'application/json' },
      body: JSON.stringify({ role: { name: 'reader' }, reason: 'a ticket', duration: 'PT5M' }),
    });
    expect([answer.status, answer.ok ? '' : await answer.text()]).toEqual([expect.any(Number), '']);
    await vi.waitFor(() => expect([...new Set(heard)].sort()).toEqual(['GET /asked', 'POST /hook']), {
      timeout: 30_000,
    });
  });
});
