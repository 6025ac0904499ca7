import { generateKeyPairSync, verify } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { entraConnector, type Identities, type Person } from '../../src/index.js';
import { createCertified } from '../support/certified.js';
import { clientId, startTenant, subscription, type Tenant, tenantId } from './tenant.js';

const calm = () => new AbortController().signal;
const encodings = {
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
} as const;
const rsa = (modulusLength: number) => generateKeyPairSync('rsa', { modulusLength, ...encodings });
const base = { tenant: tenantId, client_id: clientId, client_secret: 'a-secret' };
const parse = (config: unknown) => entraConnector.config.safeParse(config);
const { certificate: pem, ...key } = createCertified('belay.example.test');
const { client_secret: _, ...bare } = base;

describe('the configuration of entra', () => {
  it.each([
    [base],
    [{ ...bare, certificate: { pem, private_key: key.privateKey } }],
    [
      {
        ...base,
        pim: ['groups', 'azure_roles'],
        scopes: [subscription, '/providers/Microsoft.Management/managementGroups/shop'],
      },
    ],
    [
      {
        ...base,
        identity: { login: ['saml'] },
        exclusive: ['group/Shop Operators', 'azure-role/Reader'],
        residual: 'PT2H',
      },
    ],
    [{ ...base, endpoints: { login: 'https://login.microsoftonline.us', graph: 'https://graph.microsoft.us' } }],
  ])('accepts a whole one (%#)', (config) => expect(parse(config).success).toBe(true));

  it.each([
    [{ ...base, tenant: 'acme.onmicrosoft.com' }, 'tenant', 'is not an identifier of Entra'],
    [{ ...base, client_id: 'belay' }, 'client_id', 'is not an identifier of Entra'],
    [bare, 'client_secret', 'exactly one'],
    [{ ...base, certificate: { pem, private_key: key.privateKey } }, 'client_secret', 'exactly one'],
    [{ ...bare, certificate: { pem: 'secret', private_key: key.privateKey } }, 'certificate.pem', 'PEM'],
    [{ ...bare, certificate: { pem, private_key: 'secret' } }, 'certificate.private_key', 'PEM'],
    [{ ...bare, certificate: { pem, private_key: rsa(1024).privateKey } }, 'certificate.private_key', '2048'],
    [
      { ...bare, certificate: { pem, private_key: rsa(2048).privateKey } },
      'certificate.private_key',
      'of the certificate',
    ],
    [{ ...base, pim: ['roles'] }, 'pim.0', ''],
    [{ ...base, scopes: ['/subscriptions/shop'] }, 'scopes.0', 'is not a scope of Azure'],
    [{ ...base, scopes: [`${subscription}/resourceGroups/..`] }, 'scopes.0', 'is not a scope of Azure'],
    [{ ...base, scopes: [`${subscription}/resourceGroups/a?b`] }, 'scopes.0', 'is not a scope of Azure'],
    [{ ...base, scopes: ['/'] }, 'scopes.0', 'is not a scope of Azure'],
    [{ ...base, exclusive: ['Shop Operators'] }, 'exclusive.0', 'group/<name>'],
    [{ ...base, identity: { table: { rita: 'rita' } } }, 'identity.table.rita', 'is not an e-mail address'],
    [{ ...base, email_domains: ['example'] }, 'email_domains.0', 'is not a domain'],
    [{ ...base, residual: '1h' }, 'residual', 'PT1H30M'],
    [{ ...base, endpoints: { graph: 'http://graph.example.com' } }, 'endpoints.graph', 'https'],
    [{ ...base, allow_all: true }, '', 'allow_all'],
  ])('rejects a wrong one at its key (%#)', (config, path, fix) => {
    const issues = parse(config).error?.issues ?? [];
    expect(issues.map((issue) => issue.path.join('.'))).toContain(path);
    expect(issues.map(({ message }) => message).join()).toContain(fix);
    expect(JSON.stringify(issues)).not.toMatch(/PRIVATE KEY-----|a-secret/);
  });

  it('says that what pim names ends at Entra, after five minutes at least', () => {
    const config = entraConnector.config.parse({ ...base, pim: ['groups'] });
    expect(entraConnector.expiry?.(config, { group: 'x' })).toEqual({ native: true, minimum: 'PT5M' });
    expect(entraConnector.expiry?.(config, { directory_role: 'x' })).toBeUndefined();
  });
});

describe('a tenant of Entra', () => {
  let tenant: Tenant;
  beforeAll(async () => {
    tenant = await startTenant();
  });
  afterAll(() => tenant?.[Symbol.asyncDispose]());

  const identities = async (config: object = {}) => (await tenant.client({ ...config })).identities as Identities;
  const person = (email: string, logins: Person['logins'] = []) => ({ email, name: '', subject: '', logins });
  const find = async (config: object, who: Person) => (await (await identities(config)).find(who, calm()))?.id;

  it('signs the assertion of a certificate, and sends no secret', async () => {
    const client = await tenant.client({ client_secret: undefined, certificate: { pem, private_key: key.privateKey } });
    await client.check(calm());
    const form = tenant.forms.at(-1);
    const [header = '', payload = '', signature = ''] = (form?.get('client_assertion') ?? '').split('.');
    const read = (text: string) => JSON.parse(Buffer.from(text, 'base64url').toString()) as Record<string, unknown>;
    expect(read(header)).toMatchObject({ alg: 'PS256', 'x5t#S256': expect.stringMatching(/^[\w-]{43}$/) });
    expect(read(payload)).toMatchObject({
      iss: clientId,
      sub: clientId,
      aud: `${tenant.url}/${tenantId}/oauth2/v2.0/token`,
    });
    const how = { key: pem, padding: 6, saltLength: 32 };
    expect(verify('sha256', Buffer.from(`${header}.${payload}`), how, Buffer.from(signature, 'base64url'))).toBe(true);
    expect(form?.has('client_secret')).toBe(false);
  });

  it('finds a person by mail or name, of the domains that count, and takes no guess', async () => {
    tenant.user({ userPrincipalName: 'rroe@corp.example', mail: 'rita@example.com' });
    tenant.user({ userPrincipalName: 'omar@example.com', mail: null });
    expect(await find({}, person('Rita@example.com'))).toBe('rroe@corp.example');
    expect(await find({}, person('omar@example.com'))).toBe('omar@example.com');
    expect(await find({ email_domains: ['example.org'] }, person('omar@example.com'))).toBeUndefined();
    expect(await find({}, person("o'brien@example.com"))).toBeUndefined();
    // Another account has the address of omar's account as its mail.
    tenant.user({ userPrincipalName: 'x@example.com', mail: 'omar@example.com', accountEnabled: false });
    expect(await find({}, person('omar@example.com'))).toBeUndefined();
  });

  it('finds no disabled account, and guests only where they are permitted', async () => {
    tenant.user({ userPrincipalName: 'gone@example.com', mail: 'gone@example.com', accountEnabled: false });
    const guest = 'gus_example.org#EXT#@corp.example';
    tenant.user({ userPrincipalName: guest, mail: 'gus@example.org', userType: 'Guest' });
    expect(await find({}, person('gone@example.com'))).toBeUndefined();
    expect(await find({}, person('gus@example.org'))).toBeUndefined();
    expect(await find({ allow_guests: true }, person('gus@example.org'))).toBe(guest);
    expect((await (await identities({ allow_guests: true })).get(guest, calm()))?.email).toBe('gus@example.org');
  });

  it('finds a person by a sign-in whose subject is the object ID, and by the table', async () => {
    const user = tenant.user({ userPrincipalName: 'lin@corp.example' });
    const byLogin = { identity: { login: ['saml'] } };
    const login = (subject: string, provider = 'saml') => person('lin@example.com', [{ provider, subject }]);
    expect((await identities(byLogin)).byLogin).toBe(true);
    expect(await find(byLogin, login(user.id))).toBe('lin@corp.example');
    for (const subject of ['lin@corp.example', 'me', '../groups', ''])
      expect(await find(byLogin, login(subject))).toBeUndefined();
    expect(await find(byLogin, login(user.id, 'other'))).toBeUndefined();
    const table = { identity: { table: { 'l@example.com': 'LIN@corp.example' } } };
    expect(await find(table, person('l@example.com'))).toBe('lin@corp.example');
    expect(await (await identities(table)).get('lin@corp.example', calm())).toMatchObject({
      email: 'l@example.com',
      addresses: ['lin@corp.example'],
    });
    expect((await (await identities(byLogin)).get('lin@corp.example', calm()))?.logins).toEqual([
      { provider: 'saml', subject: user.id },
    ]);
  });

  it('gets, searches and lists accounts, a thousand at most', async () => {
    for (let each = 0; each < 1_100; each += 1) tenant.user({ userPrincipalName: `crowd-${each}@example.com` });
    const { get, search, list } = await identities();
    expect(await get("x' or userPrincipalName eq 'omar@example.com", calm())).toBeNull();
    expect(await get('', calm())).toBeNull();
    expect((await search('RITA@example.com', 5, calm()))[0]?.id).toBe('rroe@corp.example');
    expect(await search('crowd', 7, calm())).toHaveLength(7);
    expect(await list(calm())).toHaveLength(1_000);
  });

  it('names in a check what the app lacks, and to the doctor what it has too much', async () => {
    const client = await tenant.client({ pim: ['groups', 'directory_roles', 'azure_roles'] });
    await client.check(calm());
    for (const lacking of ['PrivilegedAssignmentSchedule.ReadWrite.AzureADGroup', 'User.Read.All']) {
      tenant.permissions.delete(lacking);
      await expect(client.check(calm())).rejects.toThrow(lacking);
      tenant.permissions.add(lacking);
    }
    tenant.azureActions.delete('Microsoft.Authorization/roleAssignmentScheduleRequests/write');
    await expect(client.check(calm())).rejects.toThrow(
      `Microsoft.Authorization/roleAssignmentScheduleRequests/write on ${subscription}`,
    );
    tenant.permissions.add('Application.ReadWrite.All');
    const found = ((await client.weaknesses?.(calm())) ?? []).map(({ message }) => message);
    expect(found.join()).toContain('Application.ReadWrite.All');
    expect(found.join()).toContain('the members of all groups');
  });
});
