import { describe, expect, it } from 'vitest';
import { Terminal } from '../../src/index.js';
import { readClaims } from '../../src/oidc/claims.js';

const settings = { groups_claim: 'groups' };
const idToken = { sub: 's', email: 'ana@example.test', email_verified: true, name: 'Ana', groups: ['a'] };

describe('the identity of a person', () => {
  it('comes from the userinfo endpoint before the ID token', () => {
    const userInfo = { sub: 's', email: 'new@example.test', email_verified: true, name: 'Ana B', groups: ['b', 'b'] };
    expect(readClaims(idToken, userInfo, settings)).toEqual({
      subject: 's',
      email: 'new@example.test',
      emailVerified: true,
      name: 'Ana B',
      groups: ['b'],
    });
    expect(readClaims(idToken, {}, settings)).toEqual({
      subject: 's',
      email: 'ana@example.test',
      emailVerified: true,
      name: 'Ana',
      groups: ['a'],
    });
  });

  it('never verifies one address by a statement about another', () => {
    const person = readClaims(idToken, { sub: 's', email: 'victim@example.test' }, settings);
    expect([person.email, person.emailVerified]).toEqual(['victim@example.test', false]);
  });

  it.each([
    [true, true],
    ['true', true],
    [false, false],
    ['false', false],
    ['yes', false],
    [1, false],
    [undefined, false],
  ])('takes %j for a verified address: %j', (said, verified) => {
    expect(readClaims({ ...idToken, email_verified: said }, {}, settings).emailVerified).toBe(verified);
  });

  it('is verified in the domains that the operator lists, where the issuer states nothing of the address', () => {
    const listing = { ...settings, email_domains: ['example.test'] };
    const { email_verified: _, ...silent } = idToken;
    const verifiedOf = (claims: object, userInfo: object = {}) =>
      readClaims({ ...silent, ...claims }, { ...userInfo }, listing).emailVerified;
    expect([verifiedOf({}), verifiedOf({ email: 'Ana@Example.TEST' })]).toEqual([true, true]);
    expect(verifiedOf({}, { email: 'new@example.test' })).toBe(true);
    for (const email of ['ana@elsewhere.test', 'ana@x.example.test', 'ana@elsewhere.test@example.test', 'example.test'])
      expect([email, verifiedOf({ email })]).toEqual([email, false]);
    // The address of the userinfo endpoint takes precedence.
    expect(verifiedOf({}, { email: 'ana@elsewhere.test' })).toBe(false);
  });

  it.each([false, 'false', 'yes', 0, null, {}])(
    'is not verified by a listed domain where the issuer states %j of the address',
    (said) => {
      const listing = { ...settings, email_domains: ['example.test'] };
      expect(readClaims({ ...idToken, email_verified: said }, {}, listing).emailVerified).toBe(false);
      const userInfo = { email: idToken.email, email_verified: said };
      expect(readClaims(idToken, userInfo, listing).emailVerified).toBe(false);
    },
  );

  it('reads organizations from the claim that is configured, and from no other', () => {
    const claims = { ...idToken, organizations: ['not-these'], org: ['acme', 'acme'] };
    expect(readClaims(claims, {}, { ...settings, organizations_claim: 'org' })).toMatchObject({
      groups: ['a'],
      organizations: ['acme'],
    });
    expect(readClaims(claims, {}, settings)).not.toHaveProperty('organizations');
    const unreadable = { ...claims, org: { acme: {} } };
    expect(() => readClaims(unreadable, {}, { ...settings, organizations_claim: 'org' })).toThrow(Terminal);
  });

  it('reads one group, no group, and another claim, and rejects a value that is not a list of names', () => {
    const groups = (claims: Record<string, unknown>, claim = 'groups') =>
      readClaims({ ...idToken, groups: undefined, ...claims }, {}, { groups_claim: claim }).groups;
    expect(groups({ groups: 'one' })).toEqual(['one']);
    expect(groups({})).toEqual([]);
    expect(groups({ 'https://x.test/roles': ['r'] }, 'https://x.test/roles')).toEqual(['r']);
    for (const wrong of [[1], { admin: true }, [['admin']], 7]) {
      expect(() => groups({ groups: wrong })).toThrow(Terminal);
    }
  });

  it('lists no groups, and says so, where the issuer names another place for them or has too many', () => {
    const { groups: _, ...without } = idToken;
    const elsewhere = { _claim_names: { groups: 'src1' }, _claim_sources: { src1: { endpoint: 'https://x.test' } } };
    const read = (claims: object, userInfo: object = {}, config: Parameters<typeof readClaims>[2] = settings) =>
      readClaims({ ...without, ...claims }, { ...userInfo }, config);
    expect(read(elsewhere)).toMatchObject({ groups: [], groupsLeftOut: true });
    expect(read({ hasgroups: true })).toMatchObject({ groups: [], groupsLeftOut: true });
    const organized = { ...settings, organizations_claim: 'org' };
    expect(read({ groups: ['a'], _claim_names: { org: 'src1' } }, {}, organized)).toMatchObject({
      groupsLeftOut: true,
    });
    for (const whole of [
      read({}),
      read({ ...elsewhere, groups: ['a'] }),
      read(elsewhere, { groups: ['a'] }),
      read({ _claim_names: { address: 'src1' } }),
      read({ hasgroups: false }),
      read({ _claim_names: 'groups' }),
    ])
      expect(whole).not.toHaveProperty('groupsLeftOut');
  });

  it('is rejected without a subject or an e-mail address', () => {
    expect(() => readClaims({ ...idToken, sub: '' }, {}, settings)).toThrow(Terminal);
    expect(() => readClaims({ sub: 's' }, { sub: 's' }, settings)).toThrow(Terminal);
  });

  it('always has a name', () => {
    expect(readClaims({ sub: 's', email: 'e@x.test', preferred_username: 'ana' }, {}, settings).name).toBe('ana');
    expect(readClaims({ sub: 's', email: 'e@x.test' }, {}, settings).name).toBe('e@x.test');
  });
});
