import { describe, expect, it } from 'vitest';
import { samlConnector, Terminal } from '../../src/index.js';
import { createCertified } from '../support/certified.js';
import { calm, flowOf, openCorp, redirectUri, rita } from './support.js';

// Made once, because making an RSA key takes longer than a test.
const own = createCertified('belay.example.test');
const other = createCertified('idp.example.test');

describe('a sign-in by SAML', () => {
  it('returns the person as the identity provider describes them, and no tokens', async () => {
    const corp = await openCorp();
    const before = Date.now();
    const { endsAt, ...person } = await corp.exchange(await corp.answer({ sessionUntil: 3_600_000 }));
    expect(person).toEqual({
      subject: 'rita-0001',
      email: 'rita@example.test',
      emailVerified: true,
      name: 'Rita',
      groups: ['engineers', 'on call'],
      tokens: {},
    });
    expect(endsAt?.getTime()).toBeGreaterThanOrEqual(before + 3_600_000);
    expect(endsAt?.getTime()).toBeLessThanOrEqual(Date.now() + 3_600_000);
  });

  it('says so when Microsoft Entra ID sends a link in place of the groups', async () => {
    const corp = await openCorp();
    const { groups: _, ...attributes } = rita.attributes;
    const link = {
      'http://schemas.microsoft.com/claims/groups.link': ['https://graph.windows.net/t/users/1/getMemberObjects'],
    };
    const posted = await corp.answer({}, flowOf(1), { ...rita, attributes: { ...attributes, ...link } });
    expect(await corp.exchange(posted)).toMatchObject({ groups: [], groupsLeftOut: true });
  });

  it('sends the state as relay state, an identifier derived from the flow, and nothing else of the flow', async () => {
    const corp = await openCorp();
    const url = await corp.authenticator.authorizationUrl(flowOf(7), calm());
    expect(url.href.startsWith(`${corp.idp.entryPoint}?`)).toBe(true);
    expect([...url.searchParams.keys()].sort()).toEqual(['RelayState', 'SAMLRequest']);
    expect(url.searchParams.get('RelayState')).toBe(flowOf(7).state);
    expect(url.href).not.toContain(flowOf(7).codeVerifier);
  });

  it('keeps the query of an entry point', async () => {
    const corp = await openCorp({}, { entry_point: 'https://idp.example.test/sso?tenant=7' });
    const url = await corp.authenticator.authorizationUrl(flowOf(1), calm());
    expect(url.searchParams.get('tenant')).toBe('7');
  });

  it('signs its requests when configured so, and states it in its metadata', async () => {
    const signing = { private_key: own.privateKey, certificate: own.certificate };
    const corp = await openCorp({ wantsSigned: true }, { request_signing: signing });
    expect(corp.metadata).toContain('AuthnRequestsSigned="true"');
    expect((await corp.exchange(await corp.answer())).subject).toBe(rita.nameId);
    // The identity provider does verify: it rejects a request that is signed with another key.
    const strange = await openCorp(
      {},
      { request_signing: { private_key: other.privateKey, certificate: other.certificate } },
    );
    const url = await strange.authenticator.authorizationUrl(flowOf(1), calm());
    await expect(corp.idp.answer(url, corp.metadata, rita)).rejects.toThrow();
  });

  it('describes itself: its address for posts, its name, and that it requires signatures', async () => {
    const { metadata } = await openCorp();
    expect(metadata).toContain('entityID="https://belay.example.test"');
    expect(metadata).toContain(`Location="${redirectUri}"`);
    expect(metadata).toContain('WantAssertionsSigned="true"');
  });

  it('accepts a second certificate, while the identity provider changes its key', async () => {
    const corp = await openCorp();
    const posted = await corp.answer({ key: other });
    await expect(corp.exchange(posted)).rejects.toBeInstanceOf(Terminal);
    const both = await openCorp({}, { idp_certificates: [corp.idp.certificate, other.certificate] });
    expect((await both.exchange(posted)).subject).toBe(rita.nameId);
  });

  it('requires a signature of the response as well when configured so', async () => {
    const loose = await openCorp();
    const strict = await openCorp({}, { response_signed: true, idp_certificates: [loose.idp.certificate] });
    await expect(strict.exchange(await loose.answer())).rejects.toBeInstanceOf(Terminal);
    const signing = await openCorp({ signsResponses: true }, { response_signed: true });
    expect((await signing.exchange(await signing.answer())).subject).toBe(rita.nameId);
  });
});

describe('the identity of a person', () => {
  const person = (nameId: string, attributes: Record<string, string[]>) => ({ nameId, attributes });
  const proved = async (corp: Awaited<ReturnType<typeof openCorp>>, said: object, who: typeof rita) =>
    corp.exchange(await corp.answer(said, flowOf(1), who));
  const email = ['rita@example.test'];

  it('is not a name that changes at each sign-in', async () => {
    const nameIdFormat = 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient';
    await expect(proved(await openCorp(), { nameIdFormat }, person('_123', { email }))).rejects.toThrow(
      /no persistent name identifier/,
    );
    const corp = await openCorp({}, { attributes: { subject: 'employee' } });
    expect((await proved(corp, { nameIdFormat }, person('_123', { email, employee: ['77'] }))).subject).toBe('77');
    for (const employee of [[], ['77', '78']]) {
      await expect(proved(corp, {}, person('_123', { email, employee }))).rejects.toThrow(
        /no persistent name identifier/,
      );
    }
  });

  it('has an address from a NameID that is an address, when no attribute has one', async () => {
    const nameIdFormat = 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress';
    expect(await proved(await openCorp(), { nameIdFormat }, person('rita@example.test', {}))).toMatchObject({
      email: 'rita@example.test',
      emailVerified: true,
      name: 'rita@example.test',
      groups: [],
    });
    await expect(proved(await openCorp(), {}, person('rita@example.test', {}))).rejects.toThrow(/e-mail/);
  });

  it('has a verified address only in the domains of the identity provider', async () => {
    for (const foreign of [
      'rita@elsewhere.test',
      'rita@sub.example.test',
      'a@elsewhere.test@example.test',
      'example.test',
    ]) {
      expect(await proved(await openCorp(), {}, person('r', { email: [foreign] }))).toMatchObject({
        emailVerified: false,
      });
    }
    expect(await proved(await openCorp(), {}, person('r', { email: ['Rita@EXAMPLE.test'] }))).toMatchObject({
      emailVerified: true,
    });
  });

  it('has one address: with two it is rejected', async () => {
    const two = ['rita@example.test', 'adam@example.test'];
    await expect(proved(await openCorp(), {}, person('r', { email: two }))).rejects.toThrow(/e-mail/);
  });

  it('has organizations apart from groups where they are configured', async () => {
    const corp = await openCorp({}, { attributes: { organizations: ['o'] } });
    const told = { email, groups: ['a'], o: ['acme'] };
    expect(await proved(corp, {}, person('r', told))).toMatchObject({ groups: ['a'], organizations: ['acme'] });
  });

  it('has groups under the name that is configured', async () => {
    const corp = await openCorp({}, { attributes: { groups: ['teams'] } });
    const told = { email, groups: ['not-these'], teams: ['a & b', '<c>'] };
    expect((await proved(corp, {}, person('r', told))).groups).toEqual(['a & b', '<c>']);
  });
});

describe('the configuration', () => {
  const good = {
    entry_point: 'https://idp.example.test/sso',
    idp_entity_id: 'https://idp.example.test',
    idp_certificates: [other.certificate],
    issuer: 'https://belay.example.test',
    email_domains: ['example.test'],
  };
  const bare = other.certificate.replace(/-----[^-]+-----|\s/g, '');

  it('accepts certificates as PEM and in the form of metadata', () => {
    expect(samlConnector.config.safeParse(good).success).toBe(true);
    expect(samlConnector.config.safeParse({ ...good, idp_certificates: [bare] }).success).toBe(true);
  });

  it.each([
    ['an address without TLS', { entry_point: 'http://idp.example.test/sso' }],
    ['credentials in an address', { entry_point: 'https://a:b@idp.example.test/sso' }],
    ['no certificate', { idp_certificates: [] }],
    ['what is no certificate', { idp_certificates: ['bm90aGluZw=='] }],
    ['a key as a certificate', { idp_certificates: [other.privateKey] }],
    ['a short key', { idp_certificates: [createCertified('idp.example.test', 1024).certificate] }],
    ['no domain to vouch for', { email_domains: [] }],
    ['every domain to vouch for', { email_domains: ['*'] }],
    ['an empty name', { idp_entity_id: '' }],
    [
      'a key that is not of its certificate',
      { request_signing: { private_key: other.privateKey, certificate: own.certificate } },
    ],
    ['no key to sign with', { request_signing: { private_key: 'PRIVATE KEY', certificate: own.certificate } }],
    ['what it does not know', { want_assertions_signed: false }],
  ])('rejects %s', (_what, change) => {
    expect(samlConnector.config.safeParse({ ...good, ...change }).success).toBe(false);
  });
});
