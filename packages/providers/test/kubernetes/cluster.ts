import { type Front, type KubernetesTarget, startFront, startTarget } from '@belay/targets';
import { kubernetesConnector, type ProviderClient } from '../../src/index.js';

export const rbac = '/apis/rbac.authorization.k8s.io/v1';

/**
 * Starts a cluster with a user `belay`, who has the permissions of the guide for all roles, or no permission with
 * `rules: false`.
 */
export async function openCluster({ rules = true }: { rules?: boolean } = {}) {
  const target = await startTarget('kubernetes');
  const clients: ProviderClient[] = [];
  let made = 0;
  const admin = async (method: string, path: string, body?: unknown) => {
    const answer = await target.call('admin', method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body as Record<string, unknown>;
  };
  const cluster = {
    target,
    admin,
    /** Makes a role of the cluster, which by default may list the services of its scope. Returns its name. */
    async role(rules: unknown[] = [{ apiGroups: [''], resources: ['services'], verbs: ['list'] }]): Promise<string> {
      made += 1;
      const name = `reader-${made}`;
      await admin('POST', `${rbac}/clusterroles`, { metadata: { name }, rules });
      return name;
    },
    async namespace(): Promise<string> {
      made += 1;
      const name = `shop-${made}`;
      await admin('POST', '/api/v1/namespaces', { metadata: { name } });
      return name;
    },
    /** Returns a client of the connector, for the cluster or for a front before it. */
    async client(config: Record<string, unknown> = {}, url = target.url, now = Date.now): Promise<ProviderClient> {
      const parsed = kubernetesConnector.config.parse({ url, ca: target.ca, token: target.tokens.belay, ...config });
      const client = await kubernetesConnector.create(parsed, { now, log: () => {} });
      clients.push(client);
      return client;
    },
    front: (now = Date.now): Promise<Front> => startFront({ to: target.url, ca: target.ca, now }),
    /** Returns whether a user may list the services of a namespace now. */
    canList: async (user: Exclude<keyof KubernetesTarget['tokens'], 'admin'>, namespace: string) =>
      (await target.call(user, 'GET', `/api/v1/namespaces/${namespace}/services`)).status === 200,
    async close() {
      for (const client of clients) await client.close();
      await target[Symbol.asyncDispose]();
    },
  };
  if (!rules) return cluster;
  await admin('POST', `${rbac}/clusterroles`, { metadata: { name: 'belay' }, rules: rulesOfBelay });
  await admin('POST', `${rbac}/clusterrolebindings`, {
    metadata: { name: 'belay' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'belay' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'belay' }],
  });
  return cluster;
}

const group = 'rbac.authorization.k8s.io';
/** The rules of the guide, for all roles instead of named roles, because tests make their own. */
const rulesOfBelay = [
  { apiGroups: [group], resources: ['clusterroles', 'roles'], verbs: ['get', 'list', 'bind'] },
  {
    apiGroups: [group],
    resources: ['rolebindings', 'clusterrolebindings'],
    verbs: ['get', 'list', 'create', 'patch', 'delete'],
  },
  { apiGroups: [''], resources: ['namespaces'], verbs: ['get'] },
];
