import { describe, expect, it } from 'vitest';
import { Terminal } from '../../src/index.js';
import { readClaims } from '../../src/oidc/claims.js';

const idToken = { sub: 's', email: 'ana@example.test', email_verified: true, name: 'Ana', groups: ['a'] };

describe('the identity of a person', () => {
  it('comes from the userinfo endpoint before the ID token', () => {
    const userInfo = { sub: 's', email: 'new@example.test', email_verified: true, name: 'Ana B', groups: ['b', 'b'] };
    expect(readClaims(idToken, userInfo, 'groups')).toEqual({
      subject: 's',
      email: 'new@example.test',
      emailVerified: true,
      name: 'Ana B',
      groups: ['b'],
    });
    expect(readClaims(idToken, {}, 'groups')).toEqual({
      subject: 's',
      email: 'ana@example.test',
      emailVerified: true,
      name: 'Ana',
      groups: ['a'],
    });
  });

  it('never verifies one address by a statement about another', () => {
    const person = readClaims(idToken, { sub: 's', email: 'victim@example.test' }, 'groups');
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
    expect(readClaims({ ...idToken, email_verified: said }, {}, 'groups').emailVerified).toBe(verified);
  });

  it('reads organizations from the claim that is configured, and from no other', () => {
    const claims = { ...idToken, organizations: ['not-these'], org: ['acme', 'acme'] };
    expect(readClaims(claims, {}, 'groups', 'org')).toMatchObject({ groups: ['a'], organizations: ['acme'] });
    expect(readClaims(claims, {}, 'groups')).not.toHaveProperty('organizations');
    expect(() => readClaims({ ...claims, org: { acme: {} } }, {}, 'groups', 'org')).toThrow(Terminal);
  });

  it('reads one group, no group, and another claim, and rejects a value that is not a list of names', () => {
    const groups = (claims: Record<string, unknown>, claim = 'groups') =>
      readClaims({ ...idToken, groups: undefined, ...claims }, {}, claim).groups;
    expect(groups({ groups: 'one' })).toEqual(['one']);
    expect(groups({})).toEqual([]);
    expect(groups({ 'https://x.test/roles': ['r'] }, 'https://x.test/roles')).toEqual(['r']);
    for (const wrong of [[1], { admin: true }, [['admin']], 7]) {
      expect(() => groups({ groups: wrong })).toThrow(Terminal);
    }
  });

  it('is rejected without a subject or an e-mail address', () => {
    expect(() => readClaims({ ...idToken, sub: '' }, {}, 'groups')).toThrow(Terminal);
    expect(() => readClaims({ sub: 's' }, { sub: 's' }, 'groups')).toThrow(Terminal);
  });

  it('always has a name', () => {
    expect(readClaims({ sub: 's', email: 'e@x.test', preferred_username: 'ana' }, {}, 'groups').name).toBe('ana');
    expect(readClaims({ sub: 's', email: 'e@x.test' }, {}, 'groups').name).toBe('e@x.test');
  });
});
