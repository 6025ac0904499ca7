import { describe, expect, it } from 'vitest';
import { kubernetesConnector } from '../../src/index.js';

const base = { url: 'https://kubernetes.example.com', token: 'x' };
const pem = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----';
const kubeconfig = (user: object, cluster: object = { server: base.url }) => ({
  'current-context': 'prod',
  contexts: [{ name: 'prod', context: { cluster: 'c', user: 'u' } }],
  clusters: [{ name: 'c', cluster }],
  users: [{ name: 'u', user }],
});
const parse = (config: unknown) => kubernetesConnector.config.safeParse(config);
const identitiesOf = async (config: object) => {
  const client = await kubernetesConnector.create(kubernetesConnector.config.parse({ ...base, ...config }), {
    now: () => 0,
    log: () => {},
  });
  await client.close();
  return client.identities;
};
const calm = () => new AbortController().signal;
const find = async (config: object, email: string) =>
  (await (await identitiesOf(config))?.find({ email, name: '', subject: '' }, calm()))?.id;

describe('the configuration of kubernetes', () => {
  it.each([
    [base],
    [{ url: base.url, token_file: '/var/run/secrets/token', ca: pem }],
    [{ url: base.url, client_certificate: pem, client_key: pem }],
    [{ kubeconfig: kubeconfig({ token: 'x' }) }],
    [{ kubeconfig: kubeconfig({ 'client-certificate-data': 'eA==', 'client-key-data': 'eA==' }) }],
  ])('accepts %j', (config) => expect(parse(config).success).toBe(true));

  it.each([
    [{ token: 'x' }, 'url'],
    [{ url: 'http://kubernetes.example.com', token: 'x' }, 'url'],
    [{ url: base.url }, 'token'],
    [{ ...base, token_file: '/token' }, 'token'],
    [{ url: base.url, client_certificate: pem }, 'token'],
    [{ ...base, kubeconfig: kubeconfig({ token: 'x' }) }, 'url'],
    [{ ...base, username_template: 'oidc:' }, 'username_template'],
    [{ ...base, username_template: '{username}' }, 'email_domains'],
    [{ ...base, more: 1 }, ''],
    [{ kubeconfig: kubeconfig({ exec: { command: 'aws' } }) }, 'kubeconfig.users.0.user.exec'],
    [{ kubeconfig: kubeconfig({ 'auth-provider': { name: 'gcp' } }) }, 'kubeconfig.users.0.user.auth-provider'],
    [
      { kubeconfig: kubeconfig({ token: 'x' }, { server: base.url, 'insecure-skip-tls-verify': true }) },
      'kubeconfig.clusters.0.cluster',
    ],
    [{ kubeconfig: { ...kubeconfig({ token: 'x' }), 'current-context': 'dev' } }, 'kubeconfig'],
  ])('rejects %j at %s', (config, path) => {
    const result = parse(config);
    expect(result.error?.issues.map((issue) => issue.path.join('.'))).toContain(path);
  });

  it('says what to use in place of a program', () => {
    const [issue] = parse({ kubeconfig: kubeconfig({ exec: { command: 'aws' } }) }).error?.issues ?? [];
    expect(issue?.message).toContain('use a token, a token_file or a client certificate');
  });

  it('makes the user of a person by the template, or takes it from the table', async () => {
    expect(await find({ username_template: 'oidc:{email}' }, 'rita@example.com')).toBe('oidc:rita@example.com');
    const byName = { username_template: '{username}', email_domains: ['example.com'] };
    expect(await find(byName, 'rita@example.com')).toBe('rita');
    expect(await find(byName, 'rita@example.org')).toBeUndefined();
    expect(await find({ users: { 'rita@example.com': 'admin-rita' } }, 'rita@example.com')).toBe('admin-rita');
  });

  it('returns every address of a user that is named, and one person for an address of the template', async () => {
    const byName = { username_template: '{username}', email_domains: ['example.com', 'example.org'] };
    const known = {
      ...byName,
      users: { 'boss@example.com': 'rita', 'ray@example.com': 'rita', 'rita@example.org': 'r' },
    };
    const identities = await identitiesOf(known);
    const addresses = ['ray@example.com', 'rita@example.com'];
    expect(await identities?.get('rita', calm())).toMatchObject({ email: 'boss@example.com', addresses });
    expect(await (await identitiesOf(byName))?.get('rita', calm())).toBeNull();
    const [named] = (await (await identitiesOf(byName))?.search('rita@example.org', 1, calm())) ?? [];
    expect(named).toEqual({ id: 'rita', name: 'rita', email: 'rita@example.org' });
  });
});
