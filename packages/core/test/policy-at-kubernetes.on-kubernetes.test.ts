import { getExecution, listOverdue, returnAccess } from '@belay/core';
import { type Connector, kubernetesConnector } from '@belay/providers';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { openCluster, rbac } from '../../providers/test/kubernetes/cluster.js';
import { ask, type Cast, catalogWith, minute, openCast, runOut } from './support/stories.js';

const admission = '/apis/admissionregistration.k8s.io/v1';
const reason = 'bindings are frozen until the audit ends, ask the platform team';

let cluster: Awaited<ReturnType<typeof openCluster>>;
let cast: Cast | undefined;
beforeAll(async () => {
  cluster = await openCluster();
});
afterEach(async () => {
  await cast?.[Symbol.asyncDispose]();
  cast = undefined;
});
afterAll(() => cluster?.close());

it('what an admission policy says of its reason is in the log and in the list of overdue revocations, and not told to requesters', async () => {
  const [role, namespace] = [await cluster.role(), await cluster.namespace()];
  const base = catalogWith(
    {},
    {
      providers: ['target'],
      inherits: [`target:cluster-role/${role}`],
      resources: { allow: [`namespace/${namespace}`] },
    },
  );
  const config = { url: cluster.target.url, ca: cluster.target.ca, token: cluster.target.tokens.belay };
  const logged: string[] = [];
  const note = (detail: object) => void logged.push(JSON.stringify(detail));
  cast = await openCast({
    catalog: { ...base, providers: { target: { provider: 'kubernetes', config } } },
    connectors: [kubernetesConnector as Connector],
    log: { debug() {}, info() {}, warn: note, error: note },
  });
  const { house, ada } = cast;
  const id = await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
  expect((await getExecution(ada, { id })).grants).toMatchObject([{ state: 'active' }]);
  await cluster.admin('POST', `${admission}/validatingadmissionpolicies`, {
    metadata: { name: 'frozen' },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [
          {
            apiGroups: ['rbac.authorization.k8s.io'],
            apiVersions: ['v1'],
            resources: ['rolebindings'],
            operations: ['DELETE'],
          },
        ],
      },
      validations: [{ expression: 'false', message: reason }],
    },
  });
  await cluster.admin('POST', `${admission}/validatingadmissionpolicybindings`, {
    metadata: { name: 'frozen' },
    spec: { policyName: 'frozen', validationActions: ['Deny'] },
  });
  // A policy applies only after the server has read it.
  const at = `${rbac}/namespaces/${namespace}/rolebindings`;
  const probe = { roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role } };
  await expect
    .poll(async () => {
      await cluster.target.call('admin', 'POST', at, { metadata: { name: 'probe' }, ...probe });
      return (await cluster.target.call('admin', 'DELETE', `${at}/probe`)).status;
    })
    .toBe(422);
  await returnAccess(ada, { execution_id: id });
  await house.work();
  for (let step = 0; step < 10; step += 1) await house.pass(15_000);
  const { revocations } = await listOverdue(house.operator(), {});
  expect(revocations).toMatchObject([
    {
      last_error: expect.stringMatching(
        /^The cluster rejected the request \(422\): .*bindings are frozen until the audit ends/,
      ),
    },
  ]);
  expect(logged.some((line) => line.includes(reason))).toBe(true);
  const told = await getExecution(ada, { id });
  expect(JSON.stringify(told)).not.toContain('frozen');
  expect(told.grants).toMatchObject([{ last_error: 'The cluster rejected the request (422)' }]);
  await cluster.admin('DELETE', `${admission}/validatingadmissionpolicybindings/frozen`);
  await cluster.admin('DELETE', `${admission}/validatingadmissionpolicies/frozen`);
  await expect.poll(async () => (await cluster.target.call('admin', 'DELETE', `${at}/probe`)).status).toBe(200);
  await house.pass(minute);
  await runOut(house);
  expect((await listOverdue(house.operator(), {})).revocations).toEqual([]);
});
