import { expect, it } from 'vitest';
import { startTarget } from '../src/index.js';

it('is a cluster that permits what its bindings say, and stops permitting it at once', async () => {
  await using cluster = await startTarget('kubernetes');
  const read = async () => (await cluster.call('rita', 'GET', '/api/v1/namespaces')).status;
  expect(await read()).toBe(403);
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const path = `${rbac}/clusterrolebindings`;
  await cluster.call('admin', 'POST', `${rbac}/clusterroles`, {
    metadata: { name: 'reader' },
    rules: [{ apiGroups: [''], resources: ['namespaces'], verbs: ['list'] }],
  });
  const created = await cluster.call('admin', 'POST', path, {
    metadata: { name: 'rita-reads' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'reader' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'rita' }],
  });
  expect(created.status).toBe(201);
  await expect.poll(read).toBe(200);
  expect((await cluster.call('admin', 'DELETE', `${path}/rita-reads`)).status).toBe(200);
  await expect.poll(read).toBe(403);
});
