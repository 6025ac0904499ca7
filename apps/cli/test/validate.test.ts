import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectors } from '@belay/operations';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { loadOperator } from '../src/load-operator.js';
import { openTerminal, type Terminal } from './support/run.js';

const pemOf = (type: 'rsa' | 'ed25519', bits = 2048) =>
  type === 'rsa'
    ? generateKeyPairSync('rsa', { modulusLength: bits }).privateKey.export({ type: 'pkcs8', format: 'pem' })
    : generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' });
const [key, wrongKey] = [String(pemOf('rsa')), String(pemOf('ed25519'))];
const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
const guid = '7f8a1b1c-0d3e-4c55-9f5a-1d2b3c4d5e6f';

type Config = Record<string, unknown>;
/** A setting by its path, a wrong value, and the fix that the message must name. */
type Row = [path: string, wrong: unknown, fix: RegExp];

const required = /required|expected string, received undefined|must/i;
const address = /must be an https URL/;
const isoDuration = /not an ISO 8601 duration, for example|must be an ISO 8601 duration/;
const domains = /is not a domain, for example example\.com|[Tt]oo small|at least 1/;
const yesOrNo = /must be true or false/;
const noAddress = /is not an e-mail address/;
const pem = /must be in PEM form/;

/** For each connector, a valid configuration and its possible faults. */
const table: Record<string, { right: Config; rows: Row[] }> = {
  aws: {
    right: { region: 'eu-central-1', instance: 'arn:aws:sso:::instance/ssoins-1234567890abcdef' },
    rows: [
      ['region', 'Frankfurt!', /for example eu-central-1/],
      ['instance', 'ssoins-1', /must be the ARN of an instance, for example/],
      ['access_key_id', 'AKIA', /set all of access_key_id, secret_access_key, or none/],
      ['secret_access_key', 'a-secret', /set all of access_key_id, secret_access_key, or none/],
      ['session_token', '', /at least|>=1/],
      ['endpoint', 'http://sso.example.com', /must be https/],
      ['identity', 'login', /email.*username/],
      ['max_session_duration', 'PT13H', /from PT1H to PT12H/],
      ['allow_management_account', 'yes', yesOrNo],
      ['exclusive', ['ReadOnly'], /must be permission-set\/<name> or group\/<name>/],
    ],
  },
  email: {
    right: { host: 'smtp.example.com', from: 'belay@example.com' },
    rows: [
      ['host', 'https://smtp.example.com', /must be a host name or an IP address/],
      ['port', 70_000, /65535|65,535/],
      ['security', 'none', /can only be none when host is this machine/],
      ['ca', 'certificate', pem],
      ['username', 'belay', /must be set together with username/],
      ['password', 'a-secret', /must be set together with username/],
      ['from', 'Belay <belay@example.com>', /must be one e-mail address, for example/],
      ['from_name', 'Belay\r\nBcc: all@example.com', /must be one line/],
    ],
  },
  entra: {
    right: { tenant: guid, client_id: guid, client_secret: 'a-secret' },
    rows: [
      ['tenant', 'example.onmicrosoft.com', /is not an identifier of Entra, for example/],
      ['client_id', 'belay', /is not an identifier of Entra, for example/],
      ['client_secret', undefined, /exactly one of client_secret and certificate/],
      ['certificate', { pem: 'x', private_key: 'y' }, /must be a certificate in PEM form/],
      ['pim', ['users'], /groups.*directory_roles.*azure_roles/],
      ['directory_roles', [''], /is not a name: 1 to 256/],
      ['scopes', ['shop'], /for example \/subscriptions/],
      ['allow_role_assignable_groups', ['a\nb'], /is not a name: 1 to 256/],
      ['allow_privileged_roles', 'yes', yesOrNo],
      ['identity', 'username', /must be email, \{login: \[sign-in provider, …\]\} or \{table/],
      ['email_domains', ['example'], domains],
      ['allow_guests', 1, yesOrNo],
      ['exclusive', ['Shop'], /must be group\/<name>, directory-role\/<name> or azure-role\/<name>/],
      ['end_sign_ins', 'on', yesOrNo],
      ['residual', '1h', isoDuration],
      ['endpoints.graph', 'http://graph.example.com', address],
    ],
  },
  gcp: {
    right: { projects: ['shop'], groups: ['oncall@example.com'] },
    rows: [
      [
        'credentials',
        '{"type":"external_account","credential_source":{"executable":{}}}',
        /must not name an executable/,
      ],
      ['projects', ['Shop Project'], /is not the id of a project/],
      ['groups', ['Oncall@Example.com'], /in lower case/],
      ['exclusive', ['others@example.com'], /must only name groups that are in groups as well/],
      ['group_expiry', 'yes', yesOrNo],
      ['users', { rita: 'rita@example.com' }, noAddress],
      ['email_domains', ['example'], domains],
      ['allow_privileged_roles', 'yes', yesOrNo],
      ['endpoints.iam', 'http://iam.example.com', address],
    ],
  },
  github: {
    right: { app_id: 4711, installation_id: 815, private_key: key, identity: { table: { 'rita@example.com': 1 } } },
    rows: [
      ['url', 'http://github.example.com', address],
      ['app_id', 'belay', /must be the App's ID or client ID/],
      ['installation_id', 'acme', /must be a number/],
      ['private_key', wrongKey, /must be an RSA private key in PEM form/],
      ['identity', 'email', /must be \{login: \[sign-in provider, …\]\} or \{table/],
      ['exclusive', ['oncall'], /must be team\/<slug>, org-role\/<name> or <owner>\/<repository>/],
      ['deleted_repositories', ['shop'], /must be a number/],
      ['allow_privileged_roles', 'yes', yesOrNo],
    ],
  },
  kubernetes: {
    right: { url: 'https://k8s.example.com', token: 'a-token' },
    rows: [
      ['url', undefined, /is required, unless there is a kubeconfig/],
      ['ca', 'certificate', pem],
      ['token', undefined, /is required, or a token_file, or client_certificate with client_key/],
      ['token_file', 'token', /must be an absolute path/],
      ['client_certificate', 'x', pem],
      ['client_key', 'x', pem],
      ['kubeconfig', { 'current-context': 'a', contexts: [], clusters: [], users: [] }, /kubeconfig/],
      ['username_template', 'rita', /must contain \{email\} or \{username\} once/],
      ['users', { 'rita@example.com': '' }, /at least|>=1/],
      ['email_domains', ['example'], domains],
      ['allow_privileged_roles', 'yes', yesOrNo],
    ],
  },
  ldap: {
    right: {
      url: 'ldaps://ldap.example.com',
      directory: 'active_directory',
      bind_dn: 'cn=belay,dc=example',
      password: 'a-secret',
      people_base: 'ou=people,dc=example',
      groups_base: 'ou=groups,dc=example',
    },
    rows: [
      ['url', 'ldap://ldap.example.com', /must be ldaps:\/\/, or ldap:\/\/ with start_tls: true/],
      ['directory', 'novell', /openldap.*active_directory/],
      ['start_tls', true, /ldaps:\/\/ is encrypted from the beginning/],
      ['allow_plain_text', 'yes', yesOrNo],
      ['ca', 'certificate', /BEGIN CERTIFICATE/],
      ['server_name', 'a b', /is not a host name/],
      ['bind_dn', 'belay', /is not a distinguished name, for example/],
      ['password', '', /at least|>=1/],
      ['people_base', 'people', /is not a distinguished name, for example/],
      ['people_filter', 'objectClass=*', /is not an LDAP filter, for example/],
      ['groups_base', 'groups', /is not a distinguished name, for example/],
      ['login_attribute', 'a b', /is not the name of an attribute/],
      ['email_attribute', '1', /is not the name of an attribute/],
      ['member_attribute', 'uniqueMember', /must be member in Active Directory/],
      ['identity', 'username', /list the domains of your people/],
      ['identity', 'login', /must be .*email.* or \{table: /],
      ['email_domains', ['example'], domains],
      ['exclusive', [''], /at least|>=1/],
      ['allow_privileged_groups', 'yes', yesOrNo],
      ['referential_integrity', true, /is for directory: openldap/],
      ['placeholder_member', 'cn=placeholder,dc=example', /is for directory: openldap/],
      ['member_ttl', 'yes', yesOrNo],
      ['residual', '10h', isoDuration],
    ],
  },
  mysql: {
    right: { url: 'mysql://belay:a-secret@db.example.com:3306/belay', username_template: '{email}' },
    rows: [
      ['url', 'mysql://db.example.com', /must be mysql:\/\/<user>:<password>@<host>/],
      ['ca', 'certificate', pem],
      ['allow_insecure_connection', 'yes', yesOrNo],
      ['username_template', 'rita', /must contain \{email\} or \{username\} once/],
      ['users', { 'rita@example.com': '' }, /at least|>=1/],
      ['email_domains', ['example'], domains],
      ['exclusive', [''], /at least|>=1/],
      ['max_connections', 9, /<=4|at most 4/],
      ['allow_privileged_roles', 'yes', yesOrNo],
      ['accept_objects_left_behind', 'yes', yesOrNo],
    ],
  },
  oauth2: {
    right: { preset: 'github', client_id: 'a-client' },
    rows: [
      ['preset', 'gitlab', /github/],
      ['authorization_endpoint', 'http://example.com', address],
      ['token_endpoint', 'http://example.com', address],
      ['userinfo_endpoint', 'http://example.com', address],
      ['emails_endpoint', 'http://example.com', address],
      ['groups_endpoint', 'http://example.com', address],
      ['groups_field', 'a b', /is not a valid field name/],
      ['organizations_endpoint', 'http://example.com', address],
      ['organizations_field', 'a b', /is not a valid field name/],
      ['client_id', undefined, required],
      ['client_secret', '', /at least|>=1/],
      ['token_endpoint_auth_method', 'none', /client_secret_basic.*client_secret_post/],
      ['scopes', ['a b'], /is not a valid scope/],
      ['session_scopes', ['a b'], /is not a valid scope/],
      ['claims.subject', 'a b', /is not a valid field name/],
      ['email_domains', ['example.com'], /must not be set together with emails_endpoint/],
    ],
  },
  oidc: {
    right: { issuer: 'https://id.example.com', client_id: 'a-client' },
    rows: [
      ['issuer', 'http://id.example.com', /must be https/],
      ['client_id', undefined, required],
      ['client_secret', '', /at least|>=1/],
      ['token_endpoint_auth_method', 'none', /client_secret_basic.*client_secret_post/],
      ['scopes', ['a b'], /is not a valid scope/],
      ['session_scopes', ['a b'], /is not a valid scope/],
      ['authorization_parameters', { client_id: 'another' }, /is a parameter that Belay sets/],
      ['groups_claim', '', /at least|>=1/],
      ['organizations_claim', '', /at least|>=1/],
      ['email_domains', ['example'], domains],
      ['allow_insecure_issuer', 'yes', yesOrNo],
    ],
  },
  okta: {
    right: { url: 'https://acme.okta.com', client_id: '0oa1', private_key: key },
    rows: [
      ['url', 'https://acme-admin.okta.com', /leave out -admin/],
      ['client_id', 'a client', /is not a client ID, for example/],
      ['private_key', wrongKey, /RSA with 2048 bits or more, or EC on the curve P-256/],
      ['key_id', '', /at least|>=1/],
      ['identity', 'username', /must be email, \{login: \[sign-in provider, …\]\} or \{table/],
      ['email_domains', ['example'], domains],
      ['exclusive', [''], /at least|>=1/],
      ['allow_privileged_groups', 'yes', yesOrNo],
      ['end_sessions', 'yes', yesOrNo],
      ['residual', '1h', isoDuration],
    ],
  },
  postgres: {
    right: { url: 'postgres://belay:a-secret@db.example.com/shop', identity: 'email' },
    rows: [
      ['url', 'postgres://db.example.com', /must be postgres:\/\/<user>:<password>@<host>/],
      ['identity', 'username', /list the domains of your people/],
      ['identity', 'login', /must be .*email.* or \{table: /],
      ['email_domains', ['example'], domains],
      ['max_connections', 9, /<=4|at most 4/],
      ['allow_privileged_roles', 'yes', yesOrNo],
      ['accept_objects_left_behind', 'yes', yesOrNo],
    ],
  },
  slack: {
    right: { token: 'xoxb-1-2-abc' },
    rows: [
      ['token', 'xoxp-1', /begins with xoxb-/],
      ['signing_secret', 'a-secret', /32 hexadecimal digits/],
      ['decisions', 'on', /signing_secret: must be set unless decisions is off/],
      ['url', 'http://slack.example.com', address],
    ],
  },
  webhook: {
    right: { url: 'https://hooks.example.com', secrets: [secret] },
    rows: [
      ['url', 'http://hooks.example.com', address],
      ['format', 'teams', /must be absent with format: teams/],
      ['secrets', ['whsec_short'], /must be whsec_ and the base64 of 24 to 64 random bytes/],
      ['allow_private', 'yes', yesOrNo],
      ['source', 'a b', /must be a URI reference, for example/],
    ],
  },
};
// SAML is tested in packages/providers/test/saml, which creates its certificates.
const elsewhere = ['saml'];

let folder: string;
let terminal: Terminal;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'belay-validate-'));
  terminal = await openTerminal();
});
afterAll(async () => {
  await terminal[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

/** Runs `belay validate` on a configuration, with the code of the real program. */
async function validate(document: unknown) {
  const file = join(folder, 'belay.json');
  await writeFile(file, JSON.stringify(document));
  const host = { env: {}, cwd: () => folder, stderr: process.stderr } as unknown as NodeJS.Process;
  const operator = loadOperator(host, () => 'a test');
  const { code, stdout } = await terminal.run(['validate', file, '--json'], { operator });
  return { code, messages: (JSON.parse(stdout) as { messages: string[] }).messages };
}

const ofProvider = (type: string, config: Config) => ({ providers: { one: { provider: type, config } } });

/** Returns a copy with one setting changed. */
function put(config: Config, path: string, value: unknown): Config {
  const [first = '', ...rest] = path.split('.');
  const inner = rest.length === 0 ? value : put((config[first] ?? {}) as Config, rest.join('.'), value);
  return { ...config, [first]: inner };
}

const settingsOf = (schema: z.ZodType): string[] => {
  const { properties } = z.toJSONSchema(schema, { unrepresentable: 'any' }) as { properties?: object };
  return Object.keys(properties ?? {});
};

it('has every connector and every one of its settings in the table', () => {
  const all = [...connectors.values()].map(({ type, config }) => [type, settingsOf(config).sort()]);
  const tested = Object.entries(table).map(([type, { rows }]) => [
    type,
    [...new Set(rows.map(([path]) => path.split('.')[0]))].sort(),
  ]);
  expect(tested.sort()).toEqual(all.filter(([type]) => !elsewhere.includes(String(type))).sort());
});

describe.each(Object.entries(table))('belay validate on a provider of type %s', (type, { right, rows }) => {
  it('accepts one that is right', async () => {
    const { code, messages } = await validate(ofProvider(type, right));
    expect(messages.filter((message) => !/secret|literal/i.test(message))).toEqual([]);
    expect(code).toBe(0);
  });

  it.each(rows)('rejects a wrong %s with file, key and fix', async (path, wrong, fix) => {
    const { code, messages } = await validate(ofProvider(type, put(right, path, wrong)));
    expect(code).toBe(1);
    const [first = ''] = path.split('.');
    const told = messages.filter((message) => message.includes('providers.one.config'));
    expect(told.join('\n')).toMatch(fix);
    expect(told.join('\n')).toContain(first);
    for (const message of told) expect(message).toMatch(/^\S+belay\.json/);
    // The message must not contain the value, which may be a secret.
    if (typeof wrong === 'string' && wrong.length > 12) expect(messages.join('\n')).not.toContain(wrong);
  });

  it('rejects a setting that does not exist, by its name', async () => {
    const { code, messages } = await validate(ofProvider(type, { ...right, no_such_setting: 1 }));
    expect(code).toBe(1);
    expect(messages.join('\n')).toContain('no_such_setting');
  });
});
