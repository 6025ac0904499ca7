import { generateKeyPairSync } from 'node:crypto';
import { createCertified } from '../../../providers/test/support/certified.js';

const certificate = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';

const key = generateKeyPairSync('ec', {
  namedCurve: 'P-256',
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});

// The key of a GitHub App is RSA.
const rsa = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
});

/** Valid values for the variables of the examples and of the files that `belay init` writes. */
export const variables: Record<string, string> = {
  OIDC_ISSUER: 'https://id.example.com',
  OIDC_CLIENT_ID: 'belay',
  OIDC_CLIENT_SECRET: 'a-secret',
  ENTRA_LOGIN_URL: 'https://login.microsoftonline.com/7f8a1b1c-0d3e-4c55-9f5a-1d2b3c4d5e6f/saml2',
  ENTRA_IDENTIFIER: 'https://sts.windows.net/7f8a1b1c-0d3e-4c55-9f5a-1d2b3c4d5e6f/',
  ENTRA_CERTIFICATE: createCertified('idp.example.com').certificate,
  BELAY_ENTITY_ID: 'https://belay.example.com',
  GITHUB_CLIENT_ID: 'a-client',
  GITHUB_CLIENT_SECRET: 'a-secret',
  POSTGRES_URL: 'postgres://belay:a-password@db.example.com:5432/shop',
  LDAP_URL: 'ldaps://ldap.example.com',
  LDAP_BIND_DN: 'cn=belay,dc=example,dc=com',
  OKTA_URL: 'https://acme.okta.com',
  OKTA_SERVICE_CLIENT_ID: '0oa1b2c3d4E5F6g7H8i9',
  SMTP_HOST: 'smtp.example.com',
  WEBHOOK_URL: 'https://hooks.example.com/belay',
  SMTP_USERNAME: 'belay',
  SMTP_PASSWORD: 'a-password',
  SMTP_FROM: 'belay@example.com',
  AWS_IDENTITY_CENTER_REGION: 'eu-central-1',
  AWS_IDENTITY_CENTER_INSTANCE: 'arn:aws:sso:::instance/ssoins-1234567890abcdef',
  AWS_BELAY_ACCESS_KEY_ID: 'AKIAEXAMPLE',
  AWS_BELAY_SECRET_ACCESS_KEY: 'a-key',
  ENTRA_TENANT: '7f8a1b1c-0d3e-4c55-9f5a-1d2b3c4d5e6f',
  ENTRA_CLIENT_ID: '0b2c3d4e-1f5a-4b6c-8d7e-9f0a1b2c3d4e',
  ENTRA_CLIENT_SECRET: 'a-secret',
  GITHUB_APP_ID: '4711',
  GITHUB_INSTALLATION_ID: '815',
  GITHUB_PRIVATE_KEY: rsa.privateKey,
  LDAP_PASSWORD: 'a-password',
  GOOGLE_CREDENTIALS: '{"type":"service_account"}',
  OKTA_CLIENT_ID: 'a-client',
  OKTA_CLIENT_SECRET: 'a-secret',
  KUBERNETES_URL: 'https://kubernetes.example.com:6443',
  KUBERNETES_CA: certificate,
  KUBERNETES_TOKEN: 'a-token',
  MYSQL_URL: 'mysql://belay:secret@db.example.com:3306/belay',
  MYSQL_CA: certificate,
  OKTA_PRIVATE_KEY: key.privateKey,
  SLACK_BOT_TOKEN: 'xoxb-1-2-abc',
  SLACK_SIGNING_SECRET: '8f742231b10e8888abcd99beef85a5c0',
  WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 1).toString('base64')}`,
  TEAMS_URL: 'https://example.com/workflows/1/triggers/manual/paths/invoke?sig=a-secret',
};
