/** A kind of identity provider: what of a configuration it needs. */
export interface Blueprint {
  label: string;
  /** The entry of `providers`, without its name. */
  provider(domain: string): string;
  /** The variables that it refers to, with where their values come from. */
  variables: Readonly<Record<string, string>>;
}

const callback = '<BELAY_BASE_URL>/api/v1/auth/callback/login';

function oidc(label: string, issuer: string, more: string, where: string): Blueprint {
  return {
    label,
    provider: (domain) => `name: ${label}
provider: oidc
config:
  issuer: \${env:OIDC_ISSUER}
  client_id: \${env:OIDC_CLIENT_ID}
  client_secret: \${env:OIDC_CLIENT_SECRET}
${more}
# Only people with a verified address of this domain may sign in.
sign_in:
  email_domains: [${domain}]
trusted_email_domains: [${domain}]`,
    variables: {
      OIDC_ISSUER: issuer,
      OIDC_CLIENT_ID: `${where}; redirect URI: ${callback}`,
      OIDC_CLIENT_SECRET: 'of the same client',
    },
  };
}

const withGroups = '  scopes: [openid, profile, email, groups]\n  groups_claim: groups';
const withProfile = '  scopes: [openid, profile, email]\n  groups_claim: groups';

/** The identity providers that `belay init` knows (docs/guides/sign-in.md, recipes). */
export const identityProviders: Readonly<Record<string, Blueprint>> = {
  okta: oidc(
    'Okta',
    'https://acme.okta.com',
    withGroups,
    'Applications, Create App Integration, OIDC, Web Application',
  ),
  entra: {
    label: 'Microsoft Entra ID',
    // Entra does not say by OpenID Connect whether an address is verified.
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
# Entra sends the object IDs of groups: give each the name that roles and workflows use.
groups:
  map:
    00000000-0000-4000-8000-000000000001: approvers
    00000000-0000-4000-8000-000000000002: administrators
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
  google: oidc(
    'Google',
    'https://accounts.google.com',
    '  # Google sends no groups: name people in roles and workflows.\n  organizations_claim: hd',
    'Google Cloud, APIs and services, Credentials, OAuth client ID, Web application',
  ),
  keycloak: oidc(
    'Keycloak',
    'https://keycloak.example.com/realms/acme',
    withProfile,
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
    withProfile,
    'Applications, Create with provider, OAuth2/OpenID Provider; its scope email has to send email_verified: true',
  ),
  oidc: oidc(
    'Single sign-on',
    'https://id.example.com',
    withGroups,
    'a web application with the authorization code flow',
  ),
};
