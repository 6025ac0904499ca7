import type { Blueprint } from './sign-in.js';

/** A system that grants access, with a first role. */
export interface SystemBlueprint extends Blueprint {
  /** The system's role that the first role inherits, and the resources that it applies to. */
  role: { inherits: string; resources?: string };
}

function system(
  label: string,
  type: string,
  config: string | ((domain: string) => string),
  role: SystemBlueprint['role'],
  variables: Readonly<Record<string, string>>,
): SystemBlueprint {
  const settings = typeof config === 'string' ? () => config : config;
  const indented = (domain: string) => settings(domain).replace(/^/gm, '  ');
  return {
    label,
    role,
    variables,
    provider: (domain) => `name: ${label}\nprovider: ${type}\nconfig:\n${indented(domain)}`,
  };
}

/** The types of systems that `belay init` knows and that grant access. */
export const systems: Readonly<Record<string, SystemBlueprint>> = {
  postgres: system(
    'PostgreSQL',
    'postgres',
    (domain) => `url: \${env:POSTGRES_URL}\nidentity: username\nemail_domains: [${domain}]`,
    { inherits: 'reporting_readonly' },
    { POSTGRES_URL: "postgres://belay:<password>@<host>:5432/<database>, of Belay's own user" },
  ),
  mysql: system(
    'MariaDB',
    'mysql',
    (domain) =>
      `url: \${env:MYSQL_URL}\nca: \${env:MYSQL_CA}\nusername_template: "{username}"\nemail_domains: [${domain}]`,
    { inherits: 'app_read' },
    {
      MYSQL_URL: 'mysql://belay:<password>@<host>:3306/belay',
      MYSQL_CA: "the certificate of the server's authority, as PEM",
    },
  ),
  kubernetes: system(
    'Kubernetes',
    'kubernetes',
    'url: ${env:KUBERNETES_URL}\nca: ${env:KUBERNETES_CA}\ntoken: ${env:KUBERNETES_TOKEN}\n# The prefix that the API server puts before names of people.\nusername_template: oidc:{email}',
    { inherits: 'cluster-role/view', resources: 'namespace/default' },
    {
      KUBERNETES_URL: 'the address of the API server',
      KUBERNETES_CA: "the certificate of the cluster's authority, as PEM",
      KUBERNETES_TOKEN: "the token of Belay's service account",
    },
  ),
  aws: system(
    'AWS',
    'aws',
    'region: ${env:AWS_IDENTITY_CENTER_REGION}\ninstance: ${env:AWS_IDENTITY_CENTER_INSTANCE}',
    { inherits: 'permission-set/ReadOnlyAccess', resources: 'account/111122223333' },
    {
      AWS_IDENTITY_CENTER_REGION: 'the region of IAM Identity Center',
      AWS_IDENTITY_CENTER_INSTANCE: 'the ARN of its instance',
    },
  ),
  gcp: system(
    'Google Cloud',
    'gcp',
    (domain) => `projects: [my-project]\nemail_domains: [${domain}]`,
    { inherits: 'role/roles/bigquery.dataViewer', resources: 'projects/my-project' },
    {},
  ),
  entra: system(
    'Microsoft Entra ID',
    'entra',
    (domain) =>
      `tenant: \${env:ENTRA_TENANT}\nclient_id: \${env:ENTRA_CLIENT_ID}\nclient_secret: \${env:ENTRA_CLIENT_SECRET}\nemail_domains: [${domain}]`,
    { inherits: 'group/Operators' },
    {
      ENTRA_TENANT: 'Overview: Tenant ID',
      ENTRA_CLIENT_ID: 'App registrations, your app: Application (client) ID',
      ENTRA_CLIENT_SECRET: 'there: Certificates & secrets',
    },
  ),
  github: system(
    'GitHub organization',
    'github',
    (domain) =>
      `app_id: \${env:GITHUB_APP_ID}\ninstallation_id: \${env:GITHUB_INSTALLATION_ID}\nprivate_key: \${env:GITHUB_PRIVATE_KEY}\n# GitHub's numbers of the accounts: gh api users/<login> --jq .id\nidentity:\n  table:\n    someone@${domain}: 1001`,
    { inherits: 'team/oncall' },
    {
      GITHUB_APP_ID: 'the App ID of your GitHub App',
      GITHUB_INSTALLATION_ID: "the number at the end of the address of the installation's settings",
      GITHUB_PRIVATE_KEY: 'the private key of the App, as PEM',
    },
  ),
  okta: system(
    'Okta groups',
    'okta',
    (domain) =>
      `url: \${env:OKTA_URL}\nclient_id: \${env:OKTA_SERVICE_CLIENT_ID}\nprivate_key: \${env:OKTA_PRIVATE_KEY}\nidentity: email\nemail_domains: [${domain}]`,
    { inherits: 'group/Operators' },
    {
      OKTA_URL: 'https://<organization>.okta.com',
      OKTA_SERVICE_CLIENT_ID: 'Applications, API Services: Client ID',
      OKTA_PRIVATE_KEY: 'the private key of the application, as PEM',
    },
  ),
  ldap: system(
    'Directory',
    'ldap',
    'url: ${env:LDAP_URL}\ndirectory: openldap\nbind_dn: ${env:LDAP_BIND_DN}\npassword: ${env:LDAP_PASSWORD}\npeople_base: ou=people,dc=example,dc=com\ngroups_base: ou=elevated,ou=groups,dc=example,dc=com\nplaceholder_member: cn=placeholder,ou=elevated,ou=groups,dc=example,dc=com',
    { inherits: 'group/Operators' },
    { LDAP_URL: 'ldaps://<host>', LDAP_BIND_DN: "the name of Belay's account", LDAP_PASSWORD: 'its password' },
  ),
};

/** The types of systems that deliver messages. */
export const messengers: Readonly<Record<string, Blueprint>> = {
  slack: {
    label: 'Slack',
    provider: (domain) =>
      `name: Slack\nprovider: slack\ntrusted_email_domains: [${domain}]\nconfig:\n  token: \${env:SLACK_BOT_TOKEN}\n  signing_secret: \${env:SLACK_SIGNING_SECRET}`,
    variables: {
      SLACK_BOT_TOKEN: 'OAuth & Permissions: Bot User OAuth Token',
      SLACK_SIGNING_SECRET: 'Basic Information: Signing Secret',
    },
  },
  email: {
    label: 'E-mail',
    provider: () =>
      'name: E-mail\nprovider: email\nconfig:\n  host: ${env:SMTP_HOST}\n  username: ${env:SMTP_USERNAME}\n  password: ${env:SMTP_PASSWORD}\n  from: ${env:SMTP_FROM}',
    variables: {
      SMTP_HOST: 'the mail server',
      SMTP_USERNAME: 'the account there',
      SMTP_PASSWORD: 'its password',
      SMTP_FROM: 'the address that messages come from',
    },
  },
  webhook: {
    label: 'Webhook',
    provider: () =>
      'name: Webhook\nprovider: webhook\nconfig:\n  url: ${env:WEBHOOK_URL}\n  secrets: ["${env:WEBHOOK_SECRET}"]',
    variables: { WEBHOOK_URL: 'https://<host>/<path>', WEBHOOK_SECRET: 'whsec_ and 32 random bytes as base64' },
  },
};
