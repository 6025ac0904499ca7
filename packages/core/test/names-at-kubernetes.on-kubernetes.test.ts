import { type Connector, kubernetesConnector } from '@belay/providers';
import { openCluster, rbac } from '../../providers/test/kubernetes/cluster.js';
import { namesAt } from './support/names-at.js';

namesAt('Kubernetes', async () => {
  const cluster = await openCluster();
  const [role, namespace] = [await cluster.role(), await cluster.namespace()];
  const at = `${rbac}/namespaces/${namespace}/rolebindings`;
  return {
    connector: kubernetesConnector as Connector,
    provider: {
      provider: 'kubernetes',
      config: { url: cluster.target.url, ca: cluster.target.ca, token: cluster.target.tokens.belay },
    },
    role: { inherits: [`target:cluster-role/${role}`], resources: { allow: [`namespace/${namespace}`] } },
    async holds() {
      const { items } = (await cluster.admin('GET', at)) as unknown as { items: unknown[] };
      return items.length > 0;
    },
    async raise() {
      const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }];
      await cluster.admin('PUT', `${rbac}/clusterroles/${role}`, { metadata: { name: role }, rules });
    },
    [Symbol.asyncDispose]: () => cluster.close(),
  };
});
