import { generateKeyPairSync } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { compileConfiguration } from '../src/config/compile-configuration.js';

const folder = fileURLToPath(new URL('../../../examples/connectors/', import.meta.url));
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

/** What the variables of the examples may be. */
const variables: Record<string, string> = {
  SMTP_USERNAME: 'belay',
  SMTP_PASSWORD: 'a-password',
  SMTP_FROM: 'belay@example.com',
  AWS_IDENTITY_CENTER_REGION: 'eu-central-1',
  AWS_IDENTITY_CENTER_INSTANCE: 'arn:aws:sso:::instance/ssoins-1234567890abcdef',
  AWS_BELAY_ACCESS_KEY_ID: 'AKIAEXAMPLE',
  AWS_BELAY_SECRET_ACCESS_KEY: 'a-key',
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
  WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 1).toString('base64')}`,
  TEAMS_URL: 'https://example.com/workflows/1/triggers/manual/paths/invoke?sig=a-secret',
};

/** What the providers of an example are, where they are not of the type that it is called after. */
const types: Record<string, string[]> = { 'scim.yaml': ['oidc'] };

// Files with a suffix are for the system itself, such as kubernetes-rbac.yaml.
const examples = (await readdir(folder)).filter((name) => /^[a-z]+\.yaml$/.test(name));

it.each(examples)('loads examples/connectors/%s', async (name) => {
  const found = await compileConfiguration(`${folder}${name}`, variables, ({ providers }) => ({
    ok: true as const,
    providers: [...new Set([...providers.values()].map(({ connector }) => connector.type))],
  }));
  expect(found).toEqual({ ok: true, providers: types[name] ?? [name.replace('.yaml', '')] });
});
