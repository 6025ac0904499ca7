import type { Connector, Json, SharedConnection } from '../port.js';
import { planBindings, targetOf } from './access.js';
import { connectionOf, type KubernetesConfig, kubernetesConfig } from './config.js';

/** The connector for Kubernetes: one RoleBinding or ClusterRoleBinding for each entitlement. */
export const kubernetesConnector: Connector<KubernetesConfig> = {
  type: 'kubernetes',
  description: 'Kubernetes: roles in a namespace or in the cluster',
  capabilities: ['authorizer', 'identities'],
  config: kubernetesConfig,
  plan: planBindings,
  containers: (scope) => (scope === 'cluster' ? [] : ['cluster']),
  address: (config): Json => connectionOf(config)?.url ?? null,
  connection(config, { access }): SharedConnection {
    const { url, ca } = connectionOf(config) ?? {};
    const { namespace } = targetOf({ access });
    if (url === undefined) return { variables: {} };
    const cluster = {
      server: url,
      ...(ca !== undefined && { certificate_authority: ca }),
      ...(namespace !== undefined && { namespace }),
    };
    return { variables: {}, cluster };
  },
  create: async (config, tools) => (await import('./open.js')).openKubernetes(config, tools),
};
