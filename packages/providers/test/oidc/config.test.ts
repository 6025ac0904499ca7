import { describe, expect, it } from 'vitest';
import { oidcConnector } from '../../src/index.js';

const accepts = (config: Record<string, unknown>) =>
  oidcConnector.config.safeParse({ client_id: 'belay', ...config }).success;

describe('the configuration of an oidc provider', () => {
  it('accepts an https issuer, with groups, scopes and profile by default', () => {
    expect(oidcConnector.config.parse({ issuer: 'https://id.example.com/tenant', client_id: 'belay' })).toEqual({
      issuer: 'https://id.example.com/tenant',
      client_id: 'belay',
      scopes: ['openid', 'profile', 'email'],
      groups_claim: 'groups',
      allow_insecure_issuer: false,
    });
  });

  it('accepts an issuer without TLS only on the local machine, and only with its setting', () => {
    for (const issuer of ['http://127.0.0.1:4000', 'http://localhost:4000', 'http://[::1]:4000']) {
      expect(accepts({ issuer })).toBe(false);
      expect(accepts({ issuer, allow_insecure_issuer: true })).toBe(true);
    }
    for (const issuer of [
      'http://id.example.com',
      'http://127.0.0.1.example.com',
      'http://localhost.example.com',
      'http://10.0.0.1',
      'http://127.0.0.1@example.com',
    ]) {
      expect(accepts({ issuer, allow_insecure_issuer: true })).toBe(false);
    }
  });

  it('rejects values that are not an issuer, a scope or a setting', () => {
    for (const issuer of [
      '',
      'id.example.com',
      'ftp://id.example.com',
      'https://u:p@id.example.com',
      'https://a.test/?x=1',
    ]) {
      expect(accepts({ issuer })).toBe(false);
    }
    const issuer = 'https://id.example.com';
    expect(accepts({ issuer, scopes: ['openid email'] })).toBe(false);
    expect(accepts({ issuer, client_id: '' })).toBe(false);
    expect(accepts({ issuer, secret: 'x' })).toBe(false);
  });

  it('takes further parameters of the authorization request, and none that Belay sets', () => {
    const issuer = 'https://id.example.com';
    expect(accepts({ issuer, authorization_parameters: { access_type: 'offline', prompt: 'consent' } })).toBe(true);
    for (const name of [
      'state',
      'redirect_uri',
      'client_id',
      'scope',
      'nonce',
      'response_mode',
      'request',
      'code_challenge',
    ])
      expect([name, accepts({ issuer, authorization_parameters: { [name]: 'x' } })]).toEqual([name, false]);
    for (const wrong of [{ 'a b': 'x' }, { Prompt: 'x' }, { prompt: '' }, { prompt: 1 }, ['prompt']])
      expect(accepts({ issuer, authorization_parameters: wrong })).toBe(false);
  });

  it('takes domains whose addresses the issuer vouches for, and no pattern', () => {
    const issuer = 'https://id.example.com';
    const config = { issuer, client_id: 'belay', email_domains: ['Example.com'] };
    expect(oidcConnector.config.parse(config)).toMatchObject({ email_domains: ['example.com'] });
    for (const email_domains of [[], ['*'], ['*.example.com'], ['com'], 'example.com'])
      expect(accepts({ issuer, email_domains })).toBe(false);
  });

  it('rejects listed domains at an issuer of Microsoft for every tenant, whose addresses anyone can set', () => {
    const at = (tenant: string) => `https://login.microsoftonline.com/${tenant}/v2.0`;
    for (const tenant of ['common', 'organizations', 'consumers', 'Common', '9188040d-6c67-4c5b-b112-36a304b66dad'])
      expect([tenant, accepts({ issuer: at(tenant), email_domains: ['example.com'] })]).toEqual([tenant, false]);
    expect(accepts({ issuer: at('common') })).toBe(true);
    const own = at('7f8a1b1c-0d3e-4c55-9f5a-1d2b3c4d5e6f');
    expect(accepts({ issuer: own, email_domains: ['example.com'] })).toBe(true);
  });
});
