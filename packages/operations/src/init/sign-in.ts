/** The parts of a configuration for one kind of provider. */
export interface Blueprint {
  label: string;
  /** Returns the entry of `providers`, without its name. */
  provider(domain: string): string;
  /** The variables that the entry refers to, with the source of their values. */
  variables: Readonly<Record<string, string>>;
}

const callback = '<BELAY_BASE_URL>/api/v1/auth/callback/login';

function oidc(label: string, issuer: string, more: string, where: string): Blueprint {
  return {
    label,
    provider: (domain) => `name: ${label}
provider: oidc
config:
${client}
${more}
# Only people with a verified address of this domain may sign in.
sign_in:
  email_domains: [${domain}]
trusted_email_domains: [${domain}]`,
    variables: variablesOf(issuer, where),
  };
}

const client = `  issuer: \${env:OIDC_ISSUER}
  client_id: \${env:OIDC_CLIENT_ID}
  client_secret: \${env:OIDC_CLIENT_SECRET}`;

const variablesOf = (issuer: string, where: string) => ({
  OIDC_ISSUER: issuer,
  OIDC_CLIENT_ID: `${where}; redirect URI: ${callback}`,
  OIDC_CLIENT_SECRET: 'of the same client',
});

const lasting =
  '  # offline_access: groups are read again, and people who left are noticed, for as long as a login lasts.\n';
const scoped = (...scopes: string[]) =>
  `${scopes.includes('offline_access') ? lasting : ''}  scopes: [${['openid', 'profile', 'email', ...scopes].join(', ')}]\n  groups_claim: groups`;

const namedGroups = `# Entra sends the object IDs of groups: give each the name that roles and workflows use.
groups:
  map:
    00000000-0000-4000-8000-000000000001: approvers
    00000000-0000-4000-8000-000000000002: administrators`;

/** The identity providers that `belay init` knows (docs/guides/sign-in.md, recipes). */
export const identityProviders: Readonly<Record<string, Blueprint>> = {
  okta: oidc(
    'Okta',
    'https://acme.okta.com',
    scoped('groups', 'offline_access'),
    'Applications, Create App Integration, OIDC, Web Application, grant types Authorization Code and Refresh Token',
  ),
  entra: {
    label: 'Microsoft Entra ID',
    // With OpenID Connect, Entra does not say whether an address is verified.
    provider: (domain) => `name: Microsoft Entra ID
provider: saml
config:
  entry_point: \${env:ENTRA_LOGIN_URL}
  idp_entity_id: \${env:ENTRA_IDENTIFIER}
  idp_certificates: ["\${env:ENTRA_CERTIFICATE}"]
  issuer: \${env:BELAY_ENTITY_ID}
  # Entra vouches for the addresses of this domain.
  email_domains: [${domain}]
  attributes:
    subject: http://schemas.microsoft.com/identity/claims/objectidentifier
    groups: [http://schemas.microsoft.com/ws/2008/06/identity/claims/groups]
${namedGroups}
sign_in:
  email_domains: [${domain}]
trusted_email_domains: [${domain}]`,
    variables: {
      ENTRA_LOGIN_URL: 'Enterprise applications, your application, Single sign-on (SAML): Login URL',
      ENTRA_IDENTIFIER: 'there: Microsoft Entra Identifier',
      ENTRA_CERTIFICATE: 'there: Certificate (Base64), in quotes, as PEM',
      BELAY_ENTITY_ID: `there: Identifier (Entity ID), such as your BELAY_BASE_URL; reply URL: ${callback}`,
    },
  },
  'entra-oidc': {
    label: 'Microsoft Entra ID, by OpenID Connect',
    provider: (domain) => `name: Microsoft Entra ID
provider: oidc
config:
  # Of your own tenant: https://login.microsoftonline.com/<tenant ID>/v2.0
${client}
${scoped('offline_access')}
  # Entra does not say whether an address is verified: you vouch for the addresses of this domain.
  email_domains: [${domain}]
${namedGroups}
sign_in:
  email_domains: [${domain}]
trusted_email_domains: [${domain}]`,
    variables: variablesOf(
      'https://login.microsoftonline.com/7f8a1b1c-0d3e-4c55-9f5a-1d2b3c4d5e6f/v2.0',
      'App registrations, your application; Token configuration: groups claim, in ID tokens',
    ),
  },
  google: {
    label: 'Google',
    provider: (domain) => `name: Google
provider: oidc
config:
${client}
  # Google sends no groups: name people in roles and workflows.
  organizations_claim: hd
  # For a refresh token: people who left are noticed for as long as a login lasts.
  authorization_parameters:
    access_type: offline
    prompt: consent
# Only accounts of your Google Workspace: anyone can have a private account with an address of your domain.
sign_in:
  organizations: [${domain}]
  email_domains: [${domain}]
trusted_email_domains: [${domain}]`,
    variables: variablesOf(
      'https://accounts.google.com',
      'Google Cloud, APIs and services, Credentials, OAuth client ID, Web application',
    ),
  },
  keycloak: oidc(
    'Keycloak',
    'https://keycloak.example.com/realms/acme',
    scoped(),
    'Clients, Create client, with client authentication and a mapper "Group Membership" to the claim groups',
  ),
  github: {
    label: 'GitHub',
    provider: (domain) => `name: GitHub
provider: oauth2
config:
  preset: github
  client_id: \${env:GITHUB_CLIENT_ID}
  client_secret: \${env:GITHUB_CLIENT_SECRET}
  scopes: [read:user, user:email, read:org]
  groups_endpoint: https://api.github.com/user/teams?per_page=100
  groups_field: id
  organizations_endpoint: https://api.github.com/user/orgs?per_page=100
  organizations_field: id
# Teams by their number, which does not change: gh api orgs/acme/teams --jq '.[] | [.id, .name]'
groups:
  map:
    "1001": approvers
    "1002": administrators
# Your organization by its number: gh api orgs/acme --jq .id
sign_in:
  organizations: ["4242"]
  email_domains: [${domain}]
trusted_email_domains: [${domain}]`,
    variables: {
      GITHUB_CLIENT_ID: `Settings of the organization, Developer settings, OAuth Apps; callback URL: ${callback}`,
      GITHUB_CLIENT_SECRET: 'of the same app',
    },
  },
  authentik: oidc(
    'Authentik',
    'https://authentik.example.com/application/o/belay/',
    scoped('offline_access'),
    'Applications, Create with provider, OAuth2/OpenID Provider; its scope email has to send email_verified: true',
  ),
  oidc: oidc(
    'Single sign-on',
    'https://id.example.com',
    `  # Add offline_access where the provider gives refresh tokens for that scope only.\n${scoped('groups')}`,
    'a web application with the authorization code flow',
  ),
};
