// Stores sessions one after another and prints each that is stored, until it is killed: `node put-sessions.mjs <folder>`.
import { randomBytes } from 'node:crypto';
import { createFiles, prepareFolder } from '../../dist/files.js';
import { openSessionStore } from '../../dist/session-store.js';
import { openStoreKey } from '../../dist/store-key.js';

const folder = process.argv[2] ?? '';
const log = { debug() {}, info() {}, warn() {}, error() {} };
await prepareFolder(folder);
const files = createFiles(() => randomBytes(6).toString('hex'));
const key = await openStoreKey({ folder, files, keyring: undefined, randomBytes });
const store = await openSessionStore({ folder, files, key, log, clock: () => new Date(), randomBytes });
for (let turn = store.all().length; ; turn++) {
  const person = { email: 'rita@example.test', name: 'Rita', groups: [], provider: 'demo' };
  const kept = { version: 1, expiry: '2100-01-01T00:00:00.000Z', session: 's'.repeat(2000), person, storedAt: 'now' };
  await store.put({ ...kept, provider: `p${turn}` });
  process.stdout.write(`kept p${turn}\n`);
}
