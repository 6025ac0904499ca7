import type { Connector, Json, SharedConnection } from '../port.js';
import { planAccess, readAccess } from './access.js';
import { type AwsConfig, awsConfig } from './config.js';

/** The connector for IAM Identity Center of AWS: account assignments of permission sets, and group membership. */
export const awsConnector: Connector<AwsConfig> = {
  type: 'aws',
  description: 'AWS: permission sets in accounts, and groups of IAM Identity Center',
  capabilities: ['authorizer', 'identities'],
  config: awsConfig,
  plan: planAccess,
  address: ({ instance, region, endpoint }): Json => ({ instance, region, endpoint: endpoint ?? null }),
  // The credentials come from the person's own sign-in at AWS. Tools for IAM Identity Center read these variables.
  connection(_config, { access }): SharedConnection {
    const held = readAccess({ access });
    if (!('account' in held)) return { variables: {} };
    const { account, permission_set: role } = held;
    return { variables: { AWS_ACCOUNT_ID: account, AWS_SSO_ACCOUNT_ID: account, AWS_SSO_ROLE_NAME: role } };
  },
  create: async (config, tools) => (await import('./open.js')).openAws(config, tools),
};
