import type { Connector, Json } from '../port.js';
import { planBindings } from './access.js';
import { connectionOf, type KubernetesConfig, kubernetesConfig } from './config.js';

/** The connector for Kubernetes: one RoleBinding or ClusterRoleBinding for each entitlement. */
export const kubernetesConnector: Connector<KubernetesConfig> = {
  type: 'kubernetes',
  description: 'Kubernetes: roles in a namespace or in the cluster',
  capabilities: ['authorizer', 'identities'],
  config: kubernetesConfig,
  plan: planBindings,
  address: (config): Json => connectionOf(config)?.url ?? null,
  create: async (config, tools) => (await import('./open.js')).openKubernetes(config, tools),
};
