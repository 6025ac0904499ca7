import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { byNames } from '../../src/testkit/index.js';
import { openCluster, rbac } from './cluster.js';

const until = new Date('2100-01-01T00:00:00.000Z');
const file = new URL('../../../../examples/connectors/kubernetes-rbac.yaml', import.meta.url);
const paths: Record<string, string> = {
  Namespace: '/api/v1/namespaces',
  ServiceAccount: '/api/v1/namespaces/belay/serviceaccounts',
  ClusterRole: `${rbac}/clusterroles`,
  ClusterRoleBinding: `${rbac}/clusterrolebindings`,
  ValidatingAdmissionPolicy: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
  ValidatingAdmissionPolicyBinding: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings',
  CronJob: '/apis/batch/v1/namespaces/belay/cronjobs',
};

let cluster: Awaited<ReturnType<typeof openCluster>>;
beforeAll(async () => {
  cluster = await openCluster({ rules: false });
  // In this cluster `belay` is a user with a token; in the example it is a service account.
  const text = (await readFile(file, 'utf8'))
    .replace("'system:serviceaccount:belay:belay'", "'belay'")
    .replace(
      'kind: ServiceAccount\n    name: belay\n    namespace: belay',
      'kind: User\n    apiGroup: rbac.authorization.k8s.io\n    name: belay',
    );
  for (const document of parseAllDocuments(text)) {
    const object = document.toJS() as { kind: string };
    await cluster.admin('POST', paths[object.kind] ?? object.kind, object);
  }
  await cluster.admin('POST', `${rbac}/clusterroles`, {
    metadata: { name: 'shop-operator' },
    rules: [{ apiGroups: [''], resources: ['services'], verbs: ['list'] }],
  });
});
afterAll(() => cluster?.close());

const make = (name: string, labels: Record<string, string>, role = 'shop-operator', subject = 'rita') =>
  cluster.target.call('belay', 'POST', `${rbac}/namespaces/default/rolebindings`, {
    metadata: { name, labels },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: subject }],
  });
const ours = { 'app.kubernetes.io/managed-by': 'belay' };

it('lets the connector work with the example of its rights, and with the roles that these name only', async () => {
  const client = await cluster.client();
  const signal = new AbortController().signal;
  await client.check(signal);
  expect(await client.weaknesses?.(signal)).toEqual([]);
  const one = (role: string) => ({
    id: 'e',
    identity: 'rita',
    access: { role: `cluster-role/${role}`, scope: 'namespace/default' },
  });
  const accesses = ['shop-operator', 'belay'].map((role) => one(role).access);
  expect(await client.obstacles?.(accesses, signal)).toMatchObject([{ access: { role: 'cluster-role/belay' } }]);
  await byNames(client.authorizer).ensurePresent(one('shop-operator'), until, signal);
  await expect.poll(() => cluster.canList('rita', 'default')).toBe(true);
  await byNames(client.authorizer).ensureAbsent(one('shop-operator'), signal);
  await expect.poll(() => cluster.canList('rita', 'default')).toBe(false);
  const other = await cluster.role();
  await expect(byNames(client.authorizer).ensurePresent(one(other), until, signal)).rejects.toThrow(
    'does not permit this',
  );
});

it('holds the connector to its own names, its label and people', async () => {
  // A policy applies only after the server has read it.
  await expect.poll(async () => (await make('mine', ours)).status).toBe(422);
  expect((await make('belay-1', {})).status).toBe(422);
  expect((await make('belay-2', ours, 'shop-operator', 'system:anonymous')).status).toBe(422);
  expect((await make('belay-3', ours)).status).toBe(201);
  const standing = `${rbac}/namespaces/default/rolebindings/standing`;
  await cluster.admin('POST', standing.replace('/standing', ''), {
    metadata: { name: 'standing' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
  });
  expect((await cluster.target.call('belay', 'DELETE', standing)).status).toBe(422);
  expect((await cluster.target.call('belay', 'DELETE', standing.replace('standing', 'belay-3'))).status).toBe(200);
});
