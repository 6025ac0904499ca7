import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { makeFolder } from './server-process.js';

const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});
const guid = '7f8a1b1c-0d3e-4c55-9f5a-1d2b3c4d5e6f';
/** The certificate of an identity provider, as in its metadata; its key was never kept. */
const certificate = [
  'MIIDFzCCAf+gAwIBAgIUL8oja3pdVrsV6JmvnHyTyCwaTbswDQYJKoZIhvcNAQELBQAwGjEYMBYGA1UEAwwPaWRwLmV4YW1wbGUuY29tMCAXDT',
  'I2MTEyMzEzNTAzMFoYDzIxMjYxMDMwMTM1MDMwWjAaMRgwFgYDVQQDDA9pZHAuZXhhbXBsZS5jb20wggEiMA0GCSqGSIb3DQEBAQUAA4IBDwAw',
  'ggEKAoIBAQC/Zv7s/3ixw3Ia+ul2TKh2dGFkQJ5OnQec+MdtM0VfWht6oFpSywmODzFRAW3qd5cxoopzoLfe9YzjF/U4KQgSJEXgZ+OPNCSR9b',
  'an6ykSOTXlLF46azrZaKPeAPBUHAfvfP95PMkMW1Z0M0TU0td6LIBOn4bomcVkKBIQ5PJSGXSljtUJz0U8Jwy6joXeEpT51tctCz3NBevEvFdA',
  'ARfAO6Np4RIqE11raUyXM+VmZ7tk3exQSiqFH0eA5rmg3VcfBPfbFup3quOdLHkeepYaUqwrMDho3g/Z0HmShbuMMyHJWjNIDU1xLHt/HHozAE',
  '8X1oTnmkoRueIIDxLD3kubAgMBAAGjUzBRMB0GA1UdDgQWBBQtbynOxHDyD1T9dBMGgXJDigjFfTAfBgNVHSMEGDAWgBQtbynOxHDyD1T9dBMG',
  'gXJDigjFfTAPBgNVHRMBAf8EBTADAQH/MA0GCSqGSIb3DQEBCwUAA4IBAQBLLyqQAdLJ0Xl1HYqxc7KPAyuiVFjHGpoNMXIyZGnVKzrOo51mbQ',
  '+cVhpl3Tl/2yWBddU0pUD9JUBNr2t87HGKYQDkgBNJ4GVFGumBrOM6Pm5bHdA72qu59nczE8SOLr/HOc2CjkGTMcPeRUuwyGjxZDVVpKXR2mw1',
  'p58nADk/dZls0vV/msEA0NzqbShh2OCs/zucoRH6b9bfra/RDO2+0n3qMlNnm5nW6RFsQ/3DfwTP+jOnMhuS53NfIEKm+VV8RO6EQYp0SR7PLX',
  'mM+xWoYYdmBKOWcJUW/FPFbpR9frVu1fUYmgn0Fo4EEZxz20U0Nex17iv2wKGGTonxHJUj',
].join('');

/** Each connector, with a pattern for the addresses of the packages that only it needs. */
const connectors: [type: string, config: object, libraries: RegExp | undefined][] = [
  ['postgres', { url: 'postgres://belay:secret@127.0.0.1:1/shop', identity: 'email' }, undefined],
  [
    'ldap',
    {
      url: 'ldaps://127.0.0.1:1',
      directory: 'openldap',
      bind_dn: 'cn=belay,dc=example',
      password: 'a-secret',
      people_base: 'dc=example',
      groups_base: 'dc=example',
    },
    /\/ldapts\//,
  ],
  ['mysql', { url: 'mysql://belay:secret@127.0.0.1:1/belay', username_template: '{email}' }, /\/mysql2\//],
  ['email', { host: '127.0.0.1', from: 'belay@example.com' }, /\/nodemailer\//],
  ['aws', { region: 'eu-central-1', instance: 'arn:aws:sso:::instance/ssoins-1234567890abcdef' }, /\/@aws-sdk\//],
  ['okta', { url: 'https://acme.okta.com', client_id: '0oa1', private_key: privateKey }, /\/undici\//],
  [
    'github',
    { app_id: 1, installation_id: 1, private_key: privateKey, identity: { table: { 'rita@example.com': 1 } } },
    undefined,
  ],
  ['kubernetes', { url: 'https://127.0.0.1:1', token: 'a-token' }, undefined],
  ['slack', { token: 'xoxb-1-2-abc' }, undefined],
  ['webhook', { url: 'https://127.0.0.1:1', secrets: [`whsec_${Buffer.alloc(32, 1).toString('base64')}`] }, undefined],
  ['entra', { tenant: guid, client_id: guid, client_secret: 'a-secret' }, undefined],
  ['gcp', { projects: ['shop'] }, /\/google-auth-library\//],
  ['oidc', { issuer: 'https://id.example.com', client_id: 'belay' }, /\/openid-client\//],
  ['oauth2', { preset: 'github', client_id: 'a-client' }, undefined],
  [
    'saml',
    {
      entry_point: 'https://127.0.0.1:1',
      idp_entity_id: 'https://idp.example.com',
      idp_certificates: [certificate],
      issuer: 'https://belay.example.com',
      email_domains: ['example.com'],
    },
    undefined,
  ],
];

/** By type of connector, the third-party modules that were loaded when its client was created. All are created in one process. */
let loaded: Map<string, string[]>;
beforeAll(async () => {
  await using folder = await makeFolder();
  const file = join(folder.path, 'modules');
  await promisify(execFile)(
    process.execPath,
    ['--import', pathOf('count-modules.mjs'), pathOf('load-connectors.mjs')],
    {
      env: {
        PATH: process.env.PATH,
        HOME: folder.path,
        MODULES: file,
        MADE: JSON.stringify(connectors.map(([type, config]) => [type, config])),
      },
    },
  );
  loaded = new Map();
  let type = 'before';
  for (const line of (await readFile(file, 'utf8')).trim().split('\n')) {
    if (line.startsWith('made ')) type = line.slice('made '.length);
    else if (line.includes('/node_modules/')) loaded.set(type, [...(loaded.get(type) ?? []), line]);
  }
});

const own = connectors.flatMap(([type, , libraries]) => (libraries ? [{ type, libraries }] : []));
/** Returns the connectors whose libraries were loaded at a step. */
const ownersIn = (step: string) =>
  own.filter(({ libraries }) => loaded.get(step)?.some((url) => libraries.test(url))).map(({ type }) => type);

describe('the libraries of connectors', () => {
  it('are not loaded by a composition that has only postgres', () => {
    expect(loaded.get('before')?.length).toBeGreaterThan(0);
    expect([...ownersIn('before'), ...ownersIn('postgres')]).toEqual([]);
  });

  it('of SAML, which parse XML, are not loaded before someone signs in by it', () => {
    const parsers = [...loaded.values()].flat().filter((url) => /\/(@node-saml|@xmldom|xml-crypto|xml2js)\//.test(url));
    expect(loaded.get('saml')).toBeDefined();
    expect(parsers).toEqual([]);
  });

  it.each(own)('are loaded for a provider of type $type, which loads its own', ({ type, libraries }) => {
    const order = connectors.map(([each]) => each);
    expect(loaded.get(type)?.some((url) => libraries.test(url))).toBe(true);
    for (const earlier of order.slice(0, order.indexOf(type)))
      expect([earlier, loaded.get(earlier)?.some((url) => libraries.test(url)) ?? false]).toEqual([earlier, false]);
  });
});
