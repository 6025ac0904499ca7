import { type Connector, kubernetesConnector } from '@belay/providers';
import { openCluster, rbac } from '../../providers/test/kubernetes/cluster.js';
import { driftAt } from './support/drift-at.js';

interface Binding {
  metadata: { name: string; labels?: object; annotations?: object };
  roleRef: object;
  subjects: { name: string }[];
}

driftAt('Kubernetes', async () => {
  const cluster = await openCluster();
  const [role, namespace] = [await cluster.role(), await cluster.namespace()];
  const at = `${rbac}/namespaces/${namespace}/rolebindings`;
  let seen: Binding | undefined;
  const find = async (person: string) => {
    const { items } = (await cluster.admin('GET', at)) as unknown as { items: Binding[] };
    return items.find(({ subjects }) => subjects.some(({ name }) => name === person));
  };
  const remove = async (person: string) => {
    const found = await find(person);
    if (found) await cluster.admin('DELETE', `${at}/${found.metadata.name}`);
  };
  const put = (person: string, name: string, binding: Binding, labels: object | undefined) =>
    cluster.admin('POST', at, {
      metadata: { name, labels, annotations: binding.metadata.annotations },
      roleRef: binding.roleRef,
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: person }],
    });
  const granted = () => {
    if (!seen) throw new Error('Nothing was granted yet');
    return seen;
  };
  const ada = 'ada@example.com';
  return {
    connector: kubernetesConnector as Connector,
    provider: {
      provider: 'kubernetes',
      config: { url: cluster.target.url, ca: cluster.target.ca, token: cluster.target.tokens.belay },
    },
    role: { inherits: [`target:cluster-role/${role}`], resources: { allow: [`namespace/${namespace}`] } },
    marks: true,
    async holds() {
      const found = await find(ada);
      seen = found ?? seen;
      return found !== undefined;
    },
    remove: () => remove(ada),
    async putBack() {
      const { metadata } = granted();
      await put(ada, metadata.name, granted(), metadata.labels);
    },
    async stranger() {
      const other = 'other@example.com';
      const labels = { 'app.kubernetes.io/managed-by': 'belay' };
      await put(other, 'of-another', granted(), labels);
      return { holds: async () => (await find(other)) !== undefined, remove: () => remove(other) };
    },
    [Symbol.asyncDispose]: () => cluster.close(),
  };
});
