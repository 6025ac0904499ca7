import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

it.each([
  ['signing_secret: ${env:SLACK_SIGNING_SECRET}', '', 'config.signing_secret: must be set unless decisions is off'],
  ['${env:SLACK_BOT_TOKEN}', 'xoxp-1', 'config.token: must be the token of a bot user, which begins with xoxb-'],
  ['${env:SLACK_SIGNING_SECRET}', 'secret', 'config.signing_secret: must be the signing secret of the app'],
  ['deny_only', 'yes', 'config.decisions: '],
  ['trusted_email_domains: [example.com]', '', 'trusted_email_domains: must name the domains whose members decide'],
])('rejects examples/connectors/slack.yaml without a right %s, with file, key and fix', async (right, wrong, fix) => {
  const text = await readFile(`${folder}slack.yaml`, 'utf8');
  const place = await mkdtemp(join(tmpdir(), 'belay-examples-'));
  try {
    await writeFile(join(place, 'slack.yaml'), text.replace(right, wrong));
    const found = await compileConfiguration(join(place, 'slack.yaml'), variables, () => ({ ok: true as const }));
    const messages = found.ok ? [] : found.messages;
    expect(messages.join()).toContain(fix);
    expect(messages.join()).toMatch(/slack\.yaml.*providers\.slack\./);
    expect(messages.join()).not.toMatch(/xoxp|8f742231/);
  } finally {
    await rm(place, { recursive: true });
  }
});
