import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Identities, oktaConnector, type Person } from '../../src/index.js';
import { openOrganization } from './organization.js';

const encodings = {
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
} as const;
const ec = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve, ...encodings }).privateKey;
const rsa = (modulusLength: number) => generateKeyPairSync('rsa', { modulusLength, ...encodings });
const base = { url: 'https://acme.okta.com', client_id: '0oa1', private_key: ec('P-256') };
const parse = (config: unknown) => oktaConnector.config.safeParse(config);

describe('the configuration of okta', () => {
  it.each([
    [base],
    [{ ...base, url: 'https://login.example.com/', private_key: rsa(2048).privateKey, key_id: 'k' }],
    [{ ...base, identity: { login: ['okta-sso'] }, end_sessions: true, residual: 'PT12H' }],
    [{ ...base, identity: { table: { 'rita@example.com': 'rita' } }, exclusive: ['Shop production'] }],
  ])('accepts a whole one (%#)', (config) => expect(parse(config).success).toBe(true));

  it.each([
    [{ ...base, url: 'http://acme.okta.com' }, 'url', 'https'],
    [{ ...base, url: 'https://acme-admin.okta.com' }, 'url', 'leave out -admin'],
    [{ ...base, url: 'https://acme.okta.com/oauth2/default' }, 'url', 'no path'],
    [{ ...base, client_id: 'a b' }, 'client_id', 'is not a client ID'],
    [{ ...base, private_key: 'secret' }, 'private_key', 'PEM'],
    [{ ...base, private_key: rsa(1024).privateKey }, 'private_key', '2048'],
    [{ ...base, private_key: ec('P-384') }, 'private_key', 'P-256'],
    [{ ...base, private_key: rsa(2048).publicKey }, 'private_key', 'private key'],
    [{ ...base, identity: 'username' }, 'identity', ''],
    [{ ...base, identity: { table: { rita: 'rita' } } }, 'identity.table.rita', 'is not an e-mail address'],
    [{ ...base, email_domains: ['example'] }, 'email_domains.0', 'is not a domain'],
    [{ ...base, residual: '1h' }, 'residual', 'PT1H'],
    [{ ...base, exclusive: [''] }, 'exclusive.0', ''],
    [{ ...base, end_session: true }, '', 'end_session'],
  ])('rejects a wrong one at its key (%#)', (config, path, fix) => {
    const issues = parse(config).error?.issues ?? [];
    expect(issues.map((issue) => issue.path.join('.'))).toContain(path);
    expect(issues.map(({ message }) => message).join()).toContain(fix);
    expect(JSON.stringify(issues)).not.toContain('PRIVATE KEY-----');
  });

  it('takes the residual for each grant from the configuration', async () => {
    const client = await oktaConnector.create(oktaConnector.config.parse({ ...base, residual: 'PT2H' }), {
      now: () => 0,
      log: () => {},
    });
    expect(client.authorizer?.residual).toBe('PT2H');
    await client.close();
  });
});

describe('the users of okta', () => {
  const calm = () => new AbortController().signal;
  let organization: Awaited<ReturnType<typeof openOrganization>>;
  let rita: { id: string; login: string };
  beforeAll(async () => {
    organization = await openOrganization({ crowds: [{ group: 'Crowd', members: 1_200, prefix: 'crowd' }] });
    rita = await organization.user('rita', 'rita@example.com');
    await organization.user('rita.admin', 'rita.admin@example.com');
  });
  afterAll(() => organization?.close());

  const identities = async (config: object = {}) => (await organization.client({ ...config })).identities as Identities;
  const person = (email: string, logins: Person['logins'] = []) => ({ email, name: '', subject: '', logins });
  const find = async (config: object, who: Person) => (await (await identities(config)).find(who, calm()))?.id;

  it('finds a person by e-mail address, of the domains that count', async () => {
    expect(await find({}, person('Rita@example.com'))).toBe('rita');
    expect(await find({ email_domains: ['example.com'] }, person('rita@example.com'))).toBe('rita');
    expect(await find({ email_domains: ['example.org'] }, person('rita@example.com'))).toBeUndefined();
    expect(await find({}, person('nobody@example.com'))).toBeUndefined();
  });

  it('takes no guess between two users with one address', async () => {
    await organization.user('omar', 'omar@example.com');
    const other = await organization.user('omar-2', 'omar-2@example.com');
    // At a real organization two users can have the same address; the emulator forbids this only when a user is created.
    await organization.admin('POST', `/api/v1/users/${other.id}`, { profile: { email: 'omar@example.com' } });
    expect(await find({}, person('omar@example.com'))).toBeUndefined();
  });

  it('finds a person by the table, and by the sign-in that they have linked', async () => {
    const byTable = { identity: { table: { 'r@example.com': 'RITA.admin' } } };
    expect(await find(byTable, person('r@example.com'))).toBe('rita.admin');
    const { get } = await identities(byTable);
    const addresses = [await get('rita.admin', calm()), await get('rita', calm())].map((found) => found?.email);
    expect(addresses).toEqual(['r@example.com', 'rita@example.com']);
    // Besides the address of the table, the user has the address at Okta.
    expect((await get('rita.admin', calm()))?.addresses).toEqual(['rita.admin@example.com']);
    const byLogin = { identity: { login: ['sso'] } };
    const { get: getByLogin } = await identities(byLogin);
    expect((await getByLogin('rita', calm()))?.logins).toEqual([{ provider: 'sso', subject: rita.id }]);
    expect((await identities(byLogin)).byLogin).toBe(true);
    expect((await identities()).byLogin).toBeUndefined();
    expect(await find(byLogin, person('x@example.com', [{ provider: 'sso', subject: rita.id }]))).toBe('rita');
    expect(await find(byLogin, person('x@example.com', [{ provider: 'other', subject: rita.id }]))).toBeUndefined();
    // Okta would also find users by their login and by "me".
    for (const subject of ['rita', 'me', '../users', '']) {
      expect(await find(byLogin, person('x@example.com', [{ provider: 'sso', subject }]))).toBeUndefined();
    }
    const two = ['00u1', rita.id].map((subject) => ({ provider: 'sso', subject }));
    expect(await find(byLogin, person('x@example.com', two))).toBeUndefined();
  });

  it('gets, searches and lists users, a thousand at most', async () => {
    const { get, search, list } = await identities();
    expect(await get('rita', calm())).toEqual({
      id: 'rita',
      name: expect.stringMatching(/^Rita Roe/),
      email: 'rita@example.com',
    });
    expect([await get('ri', calm()), await get('', calm()), await get('a" or login sw "r', calm())]).toEqual([
      null,
      null,
      null,
    ]);
    expect((await search('RITA', 5, calm())).map(({ id }) => id).slice(0, 2)).toEqual(['rita', 'rita.admin']);
    expect((await search('rita@example.com', 5, calm()))[0]?.id).toBe('rita');
    expect(await search('crowd', 7, calm())).toHaveLength(7);
    expect(await list(calm())).toHaveLength(1_000);
  });
});
