import { describe, expect, it } from 'vitest';
import { kubernetesConnector, Retryable } from '../../src/index.js';
import { byNames } from '../../src/testkit/index.js';
import { startFakeServer } from '../support/fake-server.js';
import { faultOf } from '../support/tools.js';

const { signal } = new AbortController();
const missing = { status: 404, body: { kind: 'Status', reason: 'NotFound' } };
const role = { metadata: { name: 'reader', uid: 'role-1' }, rules: [] };

describe('a cluster that does not return its namespace kube-system', () => {
  it('has no fingerprint, so that it is not taken for another such cluster', async () => {
    await using server = await startFakeServer({
      forbidden: missing,
      answer: ({ path }) => (path.endsWith('/clusterroles/reader') ? { status: 200, body: role } : missing),
    });
    const config = kubernetesConnector.config.parse({ url: server.url, token: 'a-token' });
    const client = await kubernetesConnector.create(config, { now: Date.now, log: () => {} });
    const authorizer = byNames(client.authorizer);
    const entitlement = { id: 'one', identity: 'rita', access: { role: 'cluster-role/reader', scope: 'cluster' } };
    const pin = { target: '', subject: { user: 'rita', role: 'role-1', scope: 'cluster' } };
    for (const call of [
      () => authorizer.target(signal),
      () => authorizer.pin(entitlement, signal),
      () => authorizer.holds({ ...entitlement, pin }, signal),
      () => authorizer.ensurePresent({ ...entitlement, pin }, new Date('2100-01-01T00:00:00.000Z'), signal),
      () => authorizer.ensureAbsent({ ...entitlement, pin }, signal),
    ]) {
      expect(await faultOf(call())).toBeInstanceOf(Retryable);
    }
    await client.close();
  });
});
