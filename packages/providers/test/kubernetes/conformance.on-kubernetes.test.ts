import * as vitest from 'vitest';
import { type AccessRequest, kubernetesConnector } from '../../src/index.js';
import { conformance } from '../../src/testkit/index.js';
import { openCluster } from './cluster.js';

const nothing = { roles: [], permissions: { allow: [], deny: [] }, resources: { allow: [], deny: [] } };
const inShop = { allow: ['namespace/shop'], deny: [] };

for (const scope of ['namespace', 'cluster']) {
  conformance(vitest, `kubernetes in a ${scope}`, async () => {
    const cluster = await openCluster();
    const config = kubernetesConnector.config.parse({ url: 'https://127.0.0.1:1', token: 'x' });
    const down = await kubernetesConnector.create(config, { now: Date.now, log: () => {} });
    let made = 0;
    return {
      client: await cluster.client(),
      down,
      plan: (request: AccessRequest) => kubernetesConnector.plan?.(config, request) ?? { ok: false, issues: [] },
      async fresh() {
        made += 1;
        const role = `cluster-role/${await cluster.role()}`;
        const place = scope === 'cluster' ? 'cluster' : `namespace/${await cluster.namespace()}`;
        return { id: `entitlement-${made}`, identity: `person-${made}@example.test`, access: { role, scope: place } };
      },
      nonsense: [
        { ...nothing, roles: ['cluster-role/view'] },
        { ...nothing, resources: inShop },
        { ...nothing, roles: ['view'], resources: inShop },
        { ...nothing, roles: ['cluster-role/'], resources: inShop },
        { ...nothing, roles: ['cluster-role/../x'], resources: inShop },
        { ...nothing, roles: [`cluster-role/${'a'.repeat(254)}`], resources: inShop },
        { ...nothing, roles: ['cluster-role/view'], resources: { allow: ['shop'], deny: [] } },
        { ...nothing, roles: ['cluster-role/view'], resources: { allow: ['namespace/Shop'], deny: [] } },
        { ...nothing, roles: ['role/reader'], resources: { allow: ['cluster'], deny: [] } },
        { ...nothing, roles: ['cluster-role/view'], resources: { allow: ['cluster'], deny: ['namespace/shop'] } },
        { ...nothing, roles: ['cluster-role/view'], resources: inShop, permissions: { allow: ['get pods'], deny: [] } },
        { ...nothing, roles: ['cluster-role/view'], resources: inShop, permissions: { allow: [], deny: ['get pods'] } },
      ],
      sensible: {
        ...nothing,
        roles: ['cluster-role/view', 'role/reader'],
        resources: { allow: ['namespace/shop', 'namespace/dev'], deny: [] },
      },
      unknownAccess: {
        role: 'cluster-role/no-such-role',
        scope: scope === 'cluster' ? 'cluster' : 'namespace/default',
      },
      knowsIdentities: false,
      async close() {
        await down.close();
        await cluster.close();
      },
    };
  });
}
