import type { Connector, Json } from '../port.js';
import { planAccess } from './access.js';
import { type AwsConfig, awsConfig } from './config.js';

/** The connector for IAM Identity Center of AWS: account assignments of permission sets, and group membership. */
export const awsConnector: Connector<AwsConfig> = {
  type: 'aws',
  description: 'AWS: permission sets in accounts, and groups of IAM Identity Center',
  capabilities: ['authorizer', 'identities'],
  config: awsConfig,
  plan: planAccess,
  address: ({ instance, region, endpoint }): Json => ({ instance, region, endpoint: endpoint ?? null }),
  create: async (config, tools) => (await import('./open.js')).openAws(config, tools),
};
