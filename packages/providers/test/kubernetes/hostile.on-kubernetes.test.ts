import * as vitest from 'vitest';
import { type Attack, byNames, hostileHolder, type Seat } from '../../src/testkit/index.js';
import { openCluster, rbac } from './cluster.js';

type Cluster = Awaited<ReturnType<typeof openCluster>>;

/** Rita, who may list the services of one namespace, and whose helper may write bindings there. */
interface Holder extends Seat {
  cluster: Cluster;
  namespace: string;
  role: string;
  /** Returns whether a user may list the services, once the API server knows all bindings that were written. */
  reaches(user: 'rita' | 'omar'): Promise<boolean>;
}

const rbacGroup = 'rbac.authorization.k8s.io';
const stop = async () => {};
/** For attacks after which only Rita could use the access, which the suite tries anyway. */
const nothingElse = async () => false;
const metadataOf = (binding: Record<string, unknown>) => binding.metadata as Record<string, unknown>;

/** Returns the path of the binding that Belay made. */
async function findBinding(cluster: Cluster, namespace: string): Promise<string> {
  const at = `${rbac}/namespaces/${namespace}/rolebindings`;
  const { items } = (await cluster.admin('GET', at)) as { items: { metadata: { name: string } }[] };
  const [found] = items;
  if (!found) throw new Error('no binding');
  return `${at}/${found.metadata.name}`;
}

/** Waits until the API server knows all bindings that were written. It reads them in order, so this waits for one more binding. */
async function catchUp(cluster: Cluster, namespace: string, role: string): Promise<void> {
  const at = `${rbac}/namespaces/${namespace}/rolebindings`;
  await cluster.admin('POST', at, {
    metadata: { name: 'probe' },
    roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name: role },
    subjects: [{ apiGroup: rbacGroup, kind: 'User', name: 'omar' }],
  });
  await vitest.expect.poll(() => cluster.canList('omar', namespace), { interval: 5 }).toBe(true);
  await cluster.admin('DELETE', `${at}/probe`);
  await vitest.expect.poll(() => cluster.canList('omar', namespace), { interval: 5 }).toBe(false);
}

const attacks: Record<string, Attack<Holder>> = {
  'keeps asking while the access ends': async ({ cluster, namespace }) => {
    let going = true;
    const work = (async () => {
      while (going) await cluster.canList('rita', namespace);
    })();
    return {
      reaches: nothingElse,
      async stop() {
        going = false;
        await work;
      },
    };
  },

  'has the labels of the binding removed, and its end put off': async ({ cluster, namespace }) => {
    const at = await findBinding(cluster, namespace);
    const binding = await cluster.admin('GET', at);
    const metadata = { ...metadataOf(binding), labels: {}, annotations: { 'belay.dev/until': '2999-01-01T00:00:00Z' } };
    await cluster.admin('PUT', at, { ...binding, metadata });
    return { reaches: nothingElse, stop };
  },

  'has another person added to the binding': async ({ cluster, namespace, reaches }) => {
    const at = await findBinding(cluster, namespace);
    const binding = await cluster.admin('GET', at);
    const subjects = ['rita', 'omar'].map((name) => ({ apiGroup: rbacGroup, kind: 'User', name }));
    await cluster.admin('PUT', at, { ...binding, subjects });
    return { reaches: () => reaches('omar'), stop };
  },

  'has the binding deleted and made again under its name': async ({ cluster, namespace }) => {
    const at = await findBinding(cluster, namespace);
    const binding = await cluster.admin('GET', at);
    const { name, labels } = metadataOf(binding);
    await cluster.admin('DELETE', at);
    await cluster.admin('POST', at.slice(0, at.lastIndexOf('/')), { ...binding, metadata: { name, labels } });
    return { reaches: nothingElse, stop };
  },

  'has the role deleted and made again': async ({ cluster, role }) => {
    const { rules } = await cluster.admin('GET', `${rbac}/clusterroles/${role}`);
    await cluster.admin('DELETE', `${rbac}/clusterroles/${role}`);
    await cluster.admin('POST', `${rbac}/clusterroles`, { metadata: { name: role }, rules });
    return { reaches: nothingElse, stop };
  },

  'has the role widened, to write bindings': async ({ cluster, role, namespace }) => {
    const found = await cluster.admin('GET', `${rbac}/clusterroles/${role}`);
    const bindings = { apiGroups: [rbacGroup], resources: ['rolebindings'], verbs: ['create', 'list'] };
    await cluster.admin('PUT', `${rbac}/clusterroles/${role}`, {
      ...found,
      rules: [...(found.rules as unknown[]), bindings],
    });
    const list = `${rbac}/namespaces/${namespace}/rolebindings`;
    return {
      reaches: async () => (await cluster.target.call('rita', 'GET', list)).status === 200,
      stop,
    };
  },
};

hostileHolder<Holder>(vitest, 'kubernetes', {
  attacks,
  async open() {
    const cluster = await openCluster();
    const { authorizer } = await cluster.client();
    if (!authorizer) throw new Error('no authorizer');
    const [probe, probeRole] = [await cluster.namespace(), await cluster.role()];
    let made = 0;
    return {
      authorizer: byNames(authorizer),
      async seat() {
        made += 1;
        const [namespace, role] = [await cluster.namespace(), await cluster.role()];
        const access = { role: `cluster-role/${role}`, scope: `namespace/${namespace}` };
        const reaches = async (user: 'rita' | 'omar') => {
          await catchUp(cluster, probe, probeRole);
          return cluster.canList(user, namespace);
        };
        return {
          ...{ cluster, namespace, role, reaches },
          entitlement: { id: `entitlement-${made}`, identity: 'rita', access },
          canUse: () => reaches('rita'),
          close: stop,
        };
      },
      close: () => cluster.close(),
    };
  },
});
