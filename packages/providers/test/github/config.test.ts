import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { githubConnector, type Person, type ProviderClient } from '../../src/index.js';
import { type Organization, openOrganization } from './github.js';

const calm = () => new AbortController().signal;
const { privateKey: ellipticKey } = generateKeyPairSync('ec', {
  namedCurve: 'P-256',
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});

let organization: Organization;
beforeAll(async () => {
  organization = await openOrganization({ people: 5 });
});
afterAll(() => organization?.close());

const parse = (change: object) => githubConnector.config.safeParse({ ...organization.config(), ...change });

describe('the configuration of github', () => {
  it.each([
    [{}],
    [{ app_id: '12' }],
    [{ app_id: 'Iv23liAbC.1' }],
    [{ installation_id: '815' }],
    [{ url: 'https://github.example.com/api/v3' }],
    [{ identity: { table: { 'rita@example.com': 7 } } }],
    [{ exclusive: ['team/oncall', 'org-role/all_repo_read', 'acme/shop'] }],
  ])('accepts %j', (change) => expect(parse(change).error).toBeUndefined());

  it.each([
    [{ url: 'http://github.example.com' }, 'url', 'must be an https URL'],
    [{ app_id: 'belay' }, 'app_id', ''],
    [{ installation_id: 'acme' }, 'installation_id', ''],
    [{ private_key: 'ghp_a-token' }, 'private_key', 'must be an RSA private key in PEM form'],
    [{ private_key: ellipticKey }, 'private_key', 'must be an RSA private key in PEM form'],
    [{ identity: undefined }, 'identity', ''],
    [{ identity: { login: [] } }, 'identity.login', ''],
    [{ identity: { table: { 'rita@example.com': 'rita' } } }, 'identity.table.rita@example.com', ''],
    [{ identity: { table: { rita: 7 } } }, 'identity.table.rita', 'e-mail address'],
    [{ exclusive: ['oncall'] }, 'exclusive.0', 'must be team/<slug>, org-role/<name> or <owner>/<repository>'],
    [{ deleted_repositories: ['acme/shop'] }, 'deleted_repositories.0', ''],
    [{ more: 1 }, '', ''],
  ])('rejects %j at %s', (change, path, message) => {
    const issues = parse(change).error?.issues ?? [];
    const found = issues.find((issue) => issue.path.join('.') === path);
    expect(found, JSON.stringify(issues)).toBeDefined();
    expect(found?.message).toContain(message);
    expect(JSON.stringify(issues)).not.toContain('ghp_');
  });
});

describe('the identities of github', () => {
  const person = (change: Partial<Person> = {}): Person => ({
    email: 'rita@example.com',
    name: 'Rita',
    subject: 'rita',
    ...change,
  });
  const identitiesOf = (client: ProviderClient) => {
    if (!client.identities) throw new Error('no identities');
    return client.identities;
  };

  it('come from a linked sign-in at a provider that is named, by the number', async () => {
    const id = await organization.idOf('person-1');
    const identities = identitiesOf(await organization.client());
    expect(identities.byLogin).toBe(true);
    const found = (logins: Person['logins']) => identities.find(person(logins ? { logins } : {}), calm());
    expect(await found([{ provider: 'sign-in', subject: String(id) }])).toMatchObject({
      id: String(id),
      name: 'person-1',
    });
    expect((await identities.get(String(id), calm()))?.logins).toEqual([{ provider: 'sign-in', subject: String(id) }]);
    expect(await found([{ provider: 'another', subject: String(id) }])).toBeNull();
    expect(await found([{ provider: 'sign-in', subject: 'person-1' }])).toBeNull();
    expect(await found([{ provider: 'sign-in', subject: '99999999' }])).toBeNull();
    expect(await found(undefined)).toBeNull();
    const two = ['person-1', 'person-2'].map(async (login) => ({
      provider: 'sign-in',
      subject: String(await organization.idOf(login)),
    }));
    expect(await found(await Promise.all(two))).toBeNull();
  });

  it('come from a table of numbers, and stay the same when the login changes', async () => {
    const id = await organization.idOf('person-3');
    const client = await organization.client({ identity: { table: { 'rita@example.com': id } } });
    const identities = identitiesOf(client);
    expect(identities.byLogin).toBeUndefined();
    const expected = { id: String(id), name: 'person-3', email: 'rita@example.com' };
    expect(await identities.find(person({ email: 'Rita@Example.com' }), calm())).toEqual(expected);
    expect(await identities.find(person({ email: 'omar@example.com' }), calm())).toBeNull();
    expect(await identities.search('rita@example.com', 5, calm())).toEqual([expected]);
    organization.github.world.renameUser('person-3', 'rita-hub');
    expect(await identities.get(String(id), calm())).toEqual({ ...expected, name: 'rita-hub' });
    const both = { 'rita@example.com': id, 'ray@example.com': id };
    const several = identitiesOf(await organization.client({ identity: { table: both } }));
    expect((await several.get(String(id), calm()))?.addresses).toEqual(['ray@example.com']);
  });

  it('are searched among the members by login and number', async () => {
    const identities = identitiesOf(await organization.client());
    const id = String(await organization.idOf('person-2'));
    expect((await identities.list(calm())).length).toBe(6);
    expect((await identities.search('person-2', 3, calm()))[0]).toMatchObject({ id });
    expect((await identities.search(id, 3, calm()))[0]).toMatchObject({ id });
    expect(await identities.search('../no one', 3, calm())).toEqual([]);
    expect(await identities.get('person-2', calm())).toBeNull();
  });
});
