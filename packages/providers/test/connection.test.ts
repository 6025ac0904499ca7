import { generateKeyPairSync } from 'node:crypto';
import { expect, it } from 'vitest';
import { awsConnector } from '../src/aws/connector.js';
import { entraConnector } from '../src/entra/connector.js';
import { gcpConnector } from '../src/gcp/connector.js';
import { githubConnector } from '../src/github/connector.js';
import { kubernetesConnector } from '../src/kubernetes/connector.js';
import { ldapConnector } from '../src/ldap/connector.js';
import { mysqlConnector } from '../src/mysql/connector.js';

it('tells a holder where MySQL is and as whom, without the account of Belay', () => {
  const config = mysqlConnector.config.parse({
    url: 'mysql://belay:hidden@db.example.com:3307/belay',
    username_template: '{email}',
  });
  const held = { identity: 'rita@10.0.0.%', access: { role: 'reader' } };
  expect(mysqlConnector.connection?.(config, held)).toEqual({
    variables: { MYSQL_HOST: 'db.example.com', MYSQL_TCP_PORT: '3307', MYSQL_USER: 'rita' },
  });
});

it('tells a holder the project of a role of Google Cloud, and nothing for a group', () => {
  const config = gcpConnector.config.parse({ projects: ['figures-prod'], groups: ['readers@example.com'] });
  const read = (access: { role: string; resource: string } | { group: string }) =>
    gcpConnector.connection?.(config, { identity: 'rita@example.com', access });
  const role = { role: 'roles/bigquery.dataViewer', resource: 'projects/figures-prod' };
  expect(read(role)).toEqual({ variables: { CLOUDSDK_CORE_PROJECT: 'figures-prod' } });
  expect(read({ group: 'readers@example.com' })).toEqual({ variables: {} });
});

it('tells a holder where a directory is, without the account of Belay', () => {
  const config = ldapConnector.config.parse({
    url: 'ldaps://ldap.example.com',
    directory: 'openldap',
    bind_dn: 'cn=belay,dc=example,dc=com',
    password: 'hidden',
    people_base: 'ou=people,dc=example,dc=com',
    groups_base: 'ou=groups,dc=example,dc=com',
  });
  const held = { identity: 'uid=rita,ou=people,dc=example,dc=com', access: { group: 'readers' } };
  expect(ldapConnector.connection?.(config, held)).toEqual({
    variables: { LDAPURI: 'ldaps://ldap.example.com:636' },
  });
});

it('tells a holder the account and the permission set of AWS, and nothing for a group', () => {
  const config = awsConnector.config.parse({
    region: 'eu-central-1',
    instance: 'arn:aws:sso:::instance/ssoins-1234567890abcdef',
    access_key_id: 'AKIAIOSFODNN7EXAMPLE',
    secret_access_key: 'hidden',
  });
  const read = (access: Record<string, string>) =>
    awsConnector.connection?.(config, { identity: 'rita@example.com', access });
  expect(read({ permission_set: 'ReadOnly', account: '123456789012' })).toEqual({
    variables: { AWS_ACCOUNT_ID: '123456789012', AWS_SSO_ACCOUNT_ID: '123456789012', AWS_SSO_ROLE_NAME: 'ReadOnly' },
  });
  expect(read({ group: 'readers' })).toEqual({ variables: {} });
});

it('tells a holder where a cluster is and in which namespace, without the credentials of Belay', () => {
  const ca = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
  const config = kubernetesConnector.config.parse({ url: 'https://k8s.example.com:6443', ca, token: 'hidden' });
  const read = (scope: string) =>
    kubernetesConnector.connection?.(config, { identity: 'rita', access: { role: 'cluster-role/view', scope } });
  const cluster = { server: 'https://k8s.example.com:6443', certificate_authority: ca };
  expect(read('namespace/shop')).toEqual({ variables: {}, cluster: { ...cluster, namespace: 'shop' } });
  expect(read('cluster')).toEqual({ variables: {}, cluster });
});

it.each([
  ['https://api.github.com', 'github.com'],
  ['https://api.acme.ghe.com', 'acme.ghe.com'],
  ['https://github.example.com/api/v3', 'github.example.com'],
])('tells a holder the host of GitHub at %s, and the repository of a role in one', (url, host) => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const config = githubConnector.config.parse({
    url,
    app_id: 1,
    installation_id: 2,
    private_key: privateKey.export({ type: 'pkcs1', format: 'pem' }),
    identity: { table: {} },
  });
  const read = (access: Record<string, string>) => githubConnector.connection?.(config, { identity: 'rita', access });
  expect(read({ role: 'repo-role/write', repository: 'acme/shop' })).toEqual({
    variables: { GH_HOST: host, GH_REPO: 'acme/shop' },
  });
  expect(read({ role: 'team/shop' })).toEqual({ variables: { GH_HOST: host } });
});

it('tells a holder the subscription and the resource group of a role of Azure, and nothing for a group', () => {
  const subscription = '7f8a1b1c-0d3e-4c55-9f5a-1d2b3c4d5e6f';
  const config = entraConnector.config.parse({
    tenant: subscription,
    client_id: subscription,
    client_secret: 'hidden',
  });
  const read = (access: Record<string, string>) =>
    entraConnector.connection?.(config, { identity: 'rita@example.com', access });
  const variables = { AZURE_SUBSCRIPTION_ID: subscription, ARM_SUBSCRIPTION_ID: subscription };
  expect(read({ azure_role: 'Reader', scope: `/subscriptions/${subscription}` })).toEqual({ variables });
  expect(read({ azure_role: 'Reader', scope: `/subscriptions/${subscription}/resourceGroups/shop` })).toEqual({
    variables: { ...variables, AZURE_DEFAULTS_GROUP: 'shop' },
  });
  expect(read({ group: 'readers' })).toEqual({ variables: {} });
});
