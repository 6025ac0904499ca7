import { describe, expect, it } from 'vitest';
import { gcpConnector } from '../../src/index.js';

const base = { projects: ['shop'] };
const parse = (config: unknown) => gcpConnector.config.safeParse(config);
const found = async (config: object, email: string) => {
  const client = await gcpConnector.create(gcpConnector.config.parse({ ...base, ...config }), {
    now: () => 0,
    log: () => {},
  });
  const account = await client.identities?.find({ email, name: '', subject: '' }, new AbortController().signal);
  await client.close();
  return account;
};
const find = async (config: object, email: string) => (await found(config, email))?.id;

describe('the configuration of gcp', () => {
  it.each([
    [base],
    [{ groups: ['oncall@example.com'], exclusive: ['oncall@example.com'], group_expiry: true }],
    [{ ...base, credentials: '{"type":"service_account"}' }],
    [{ projects: ['example.com:shop'] }],
    [{ ...base, endpoints: { iam: 'https://iam-shop.p.googleapis.com' } }],
  ])('accepts %j', (config) => expect(parse(config).success).toBe(true));

  it.each([
    [{}, 'projects'],
    [{ projects: ['Shop'] }, 'projects.0'],
    [{ projects: ['projects/shop'] }, 'projects.0'],
    [{ groups: ['oncall'] }, 'groups.0'],
    [{ groups: ['Oncall@example.com'] }, 'groups.0'],
    [{ ...base, exclusive: ['oncall@example.com'] }, 'exclusive'],
    [{ ...base, credentials: 'secret' }, 'credentials'],
    [{ ...base, credentials: '{"type":"other"}' }, 'credentials'],
    [
      { ...base, credentials: '{"type":"external_account","credential_source":{"executable":{"command":"x"}}}' },
      'credentials',
    ],
    [{ ...base, users: { 'rita@example.com': 'rita' } }, 'users.rita@example.com'],
    [{ ...base, email_domains: ['example'] }, 'email_domains.0'],
    [{ ...base, endpoints: { iam: 'http://iam.example.com' } }, 'endpoints.iam'],
    [{ ...base, more: 1 }, ''],
  ])('rejects %j at %s', (config, path) => {
    const result = parse(config);
    expect(result.error?.issues.map((issue) => issue.path.join('.'))).toContain(path);
    expect(JSON.stringify(result.error?.issues)).not.toContain('secret');
  });

  it('says that roles end at Google by themselves, and groups where the edition has that', () => {
    const expiryOf = (group_expiry: boolean, access: Record<string, string>) =>
      gcpConnector.expiry?.(gcpConnector.config.parse({ ...base, group_expiry }), access);
    const role = { role: 'roles/bigquery.dataViewer', resource: 'projects/shop' };
    expect(expiryOf(false, role)).toEqual({ native: true });
    expect(expiryOf(true, { group: 'oncall@example.com' })).toEqual({ native: true });
    expect(expiryOf(false, { group: 'oncall@example.com' })).toBeUndefined();
  });

  it('takes the address of a person as their account, or the one of the table, in the named domains only', async () => {
    expect(await find({}, 'Rita@example.com')).toBe('rita@example.com');
    expect(await find({ users: { 'rita@example.com': 'r@corp.example' } }, 'rita@example.com')).toBe('r@corp.example');
    expect(await find({ email_domains: ['example.com'] }, 'rita@example.org')).toBeUndefined();
    const users = { 'rita@example.com': 'r@corp.example', 'ray@example.com': 'R@corp.example' };
    expect((await found({ users }, 'rita@example.com'))?.addresses).toEqual(['r@corp.example', 'ray@example.com']);
  });
});
