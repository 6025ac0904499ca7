import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { approvalCatalog } from '@belay/testkit/house';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestServer, type TestServer } from '../../providers/test/postgres/server.js';
import { inspectConfiguration } from '../src/index.js';

let server: TestServer;
let other: TestServer;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'belay-shared-'));
  server = await openTestServer();
  other = await openTestServer();
});
afterAll(async () => {
  await server?.close();
  await other?.close();
  await rm(folder, { recursive: true });
});

/** Returns what doctor says of each provider's target when `billing` grants this role, and `orders` the role `reader`. */
async function inspect(role: { reader: string; billing: string }): Promise<Record<string, string[]>> {
  const base = approvalCatalog() as { roles: { reader: object } };
  const at = (url: string) => ({
    provider: 'postgres',
    config: { url, identity: { table: { 'ada@example.com': 'ada' } } },
  });
  const roleAt = (provider: string, name: string) => ({
    ...base.roles.reader,
    providers: [provider],
    inherits: [`${provider}:${name}`],
  });
  const document = {
    ...base,
    providers: { orders: at(server.url()), billing: at(other.url()) },
    roles: { reads_orders: roleAt('orders', role.reader), reads_billing: roleAt('billing', role.billing) },
  };
  const file = join(folder, 'belay.yaml');
  await writeFile(file, JSON.stringify(document));
  const inspection = await inspectConfiguration(file, {}, 10_000);
  if (!inspection.ok) throw new Error(JSON.stringify(inspection));
  return Object.fromEntries(
    inspection.providers.map(({ provider, weaknesses }) => [
      provider,
      weaknesses.map(({ message }) => message).filter((message) => message.startsWith('leads to')),
    ]),
  );
}

it('names the second of two providers that lead to one server, and the accesses that roles of both grant', async () => {
  const [reader, writer] = [await server.role(), await server.role()];
  expect(await inspect({ reader, billing: writer })).toEqual({
    billing: [],
    orders: ['leads to the same target as "billing", or to a copy of it; no access is in roles of both'],
  });
  expect(await inspect({ reader, billing: reader })).toEqual({
    billing: [],
    orders: [
      `leads to the same target as "billing", or to a copy of it, and roles of both grant ${reader}: a person holds that through one of them at a time`,
    ],
  });
});
