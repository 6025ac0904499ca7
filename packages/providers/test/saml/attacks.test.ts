import { describe, expect, it } from 'vitest';
import { Terminal } from '../../src/index.js';
import { createCertified } from '../support/certified.js';
import { type Said, tamper } from '../support/saml-identity-provider.js';
import { flowOf, openCorp, rita } from './support.js';

const corp = await openCorp();
/** Replaces the person, because every attack tries to sign in as another person. */
const evil = (xml: string) => xml.replaceAll('rita-0001', 'adam-0002').replaceAll('rita@', 'adam@');
const assertionOf = (xml: string) => /<saml:Assertion .*<\/saml:Assertion>/s.exec(xml)?.[0] ?? '';
const signatureOf = (xml: string) => /<ds:Signature .*<\/ds:Signature>/s.exec(xml)?.[0] ?? '';
const withoutSignature = (xml: string) => xml.replace(signatureOf(xml), '');
/** Returns a forged assertion with its own identifier. */
const forged = (xml: string) => withoutSignature(evil(assertionOf(xml))).replace('ID="_a', 'ID="_evil');

async function refused(posted: { SAMLResponse: string; RelayState: string }, flow = flowOf(1)) {
  const error = await corp.exchange(posted, flow).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(Terminal);
  return error as Terminal;
}

it('an honest response passes, so that the following ones are rejected for their changes', async () => {
  expect((await corp.exchange(await corp.answer())).subject).toBe(rita.nameId);
});

describe('a signature', () => {
  it.each<[string, (xml: string) => string]>([
    ['is there', withoutSignature],
    ['covers the subject', (xml) => xml.replace('rita-0001', 'adam-0002')],
    ['covers the attributes', (xml) => xml.replace('>engineers<', '>approvers<')],
    ['covers the times', (xml) => xml.replace(/NotOnOrAfter="20/, 'NotOnOrAfter="30')],
    [
      'is over the assertion that is read, not over one beside it',
      (xml) => xml.replace('<saml:Assertion ', `${forged(xml)}<saml:Assertion `),
    ],
    [
      'is over the assertion that is read, not over one after it',
      (xml) => xml.replace('</samlp:Response>', `${forged(xml)}</samlp:Response>`),
    ],
    [
      'is over the assertion that is read, not over one that it hides',
      (xml) => {
        const hidden = withoutSignature(assertionOf(xml));
        const signature = signatureOf(xml).replace(
          '</ds:Signature>',
          `<ds:Object>${hidden}</ds:Object></ds:Signature>`,
        );
        return xml.replace(assertionOf(xml), forged(xml).replace('</saml:Issuer>', `</saml:Issuer>${signature}`));
      },
    ],
    [
      'is not borrowed from an assertion in the extensions',
      (xml) => xml.replace(assertionOf(xml), `<samlp:Extensions>${assertionOf(xml)}</samlp:Extensions>${forged(xml)}`),
    ],
    [
      'is not borrowed by an assertion with the same identifier',
      (xml) =>
        xml.replace(
          assertionOf(xml),
          `<samlp:Extensions>${assertionOf(xml)}</samlp:Extensions>${evil(assertionOf(xml))}`,
        ),
    ],
    [
      'is not borrowed from a whole response inside another',
      (xml) => {
        const outer = xml.replace(assertionOf(xml), forged(xml));
        return outer.replace('</samlp:Status>', `</samlp:Status><samlp:Extensions>${xml}</samlp:Extensions>`);
      },
    ],
    ['is not there twice', (xml) => xml.replace(signatureOf(xml), `${signatureOf(xml)}${signatureOf(xml)}`)],
    ['refers to what it is in', (xml) => xml.replace(/URI="#[^"]*"/, 'URI=""')],
  ])('%s', async (_what, change) => {
    await refused(tamper(await corp.answer(), change));
  });

  it('must be of the configured key, regardless of the included certificate', async () => {
    const stranger = createCertified('idp.example.test');
    const posted = await corp.answer({ key: stranger });
    expect(Buffer.from(posted.SAMLResponse, 'base64').toString()).toContain('X509Certificate');
    await refused(posted);
  });

  it('is not made with SHA-1', async () => {
    await refused(await corp.answer({ algorithm: 'http://www.w3.org/2000/09/xmldsig#rsa-sha1' }));
  });

  it('of the response does not stand for that of the assertion', async () => {
    const signing = await openCorp({ signsResponses: true }, { response_signed: true });
    const posted = await signing.answer();
    expect((await signing.exchange(posted)).subject).toBe(rita.nameId);
    const bare = tamper(posted, (xml) => xml.replace(signatureOf(assertionOf(xml)), ''));
    await expect(signing.exchange(bare)).rejects.toBeInstanceOf(Terminal);
  });
});

describe('an assertion with a valid signature', () => {
  it.each<[string, Said]>([
    ['is for this service', { audience: 'https://other.example.test' }],
    ['is for this address', { recipient: 'https://other.example.test/callback' }],
    ['answers this request', { inResponseTo: `_${flowOf(2).nonce}` }],
    ['is in an answer to this request', { outerInResponseTo: `_${flowOf(2).nonce}` }],
    ['answers a request at all', { edit: (xml) => xml.replaceAll(/ InResponseTo="[^"]*"/g, '') }],
    [
      'says itself that it answers a request',
      { edit: (xml) => xml.replace(/(Recipient="[^"]*") InResponseTo="[^"]*"/, '$1') },
    ],
    ['is by the identity provider that is configured', { issuer: 'https://other.example.test' }],
    ['is still good', { from: -600_000, until: -60_000 }],
    ['is good already', { from: 120_000, until: 600_000 }],
    ['is for its bearer', { method: 'urn:oasis:names:tc:SAML:2.0:cm:sender-vouches' }],
    ['has conditions', { edit: (xml) => xml.replace(/<saml:Conditions.*<\/saml:Conditions>/, '') }],
    ['has an audience', { edit: (xml) => xml.replace(/<saml:AudienceRestriction>.*<\/saml:AudienceRestriction>/, '') }],
    ['has an end', { edit: (xml) => xml.replace(/(<saml:Conditions NotBefore="[^"]*") NotOnOrAfter="[^"]*"/, '$1') }],
    [
      'says how the person signed in',
      { edit: (xml) => xml.replace(/<saml:AuthnStatement.*<\/saml:AuthnStatement>/, '') },
    ],
    [
      'is confirmed once',
      { edit: (xml) => xml.replace(/(<saml:SubjectConfirmation .*<\/saml:SubjectConfirmation>)/, '$1$1') },
    ],
    ['has a subject', { edit: (xml) => xml.replace(/<saml:Subject>.*<\/saml:Subject>/, '') }],
    [
      'says when its session ends in a way that can be read',
      { edit: (xml) => xml.replace(/SessionNotOnOrAfter="[^"]*"/, 'SessionNotOnOrAfter="later"') },
    ],
  ])('%s', async (_what, said) => {
    await refused(await corp.answer(said));
  });

  it('is rejected under the state of another flow', async () => {
    const posted = await corp.answer();
    await refused({ ...posted, RelayState: flowOf(2).state });
    await refused({ ...posted, RelayState: flowOf(2).state }, flowOf(2));
  });
});

describe('a document', () => {
  const comment = (xml: string) => xml.replace('rita-0001', 'rita-<!-- -->0001');
  it.each<[string, (xml: string) => string]>([
    ['with a comment in a name', comment],
    [
      'with a comment after an address',
      (xml) => xml.replace('rita@example.test', 'rita@example.test<!---->.elsewhere'),
    ],
    ['with a document type', (xml) => `<!DOCTYPE r [<!ENTITY e SYSTEM "file:///etc/passwd">]>${xml}`],
    ['with entities that grow', (xml) => `<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>${xml}`],
    ['with a section of characters', (xml) => xml.replace('rita-0001', '<![CDATA[rita-0001]]>')],
    ['with an instruction', (xml) => xml.replace('<saml:Issuer>', '<?x y?><saml:Issuer>')],
    ['with a weak algorithm', (xml) => xml.replace('xmldsig-more#rsa-sha256', 'xmldsig-more#rsa-md5')],
    ['with an algorithm in disguise', (xml) => xml.replace('xmlenc#sha256', 'xmlenc#sha25&#54;')],
    ['with an algorithm without quotes', (xml) => xml.replace(/Algorithm="([^"]*#sha256)"/, 'Algorithm=$1')],
    [
      'with a transform of its own',
      (xml) =>
        xml.replace(
          '<ds:Transforms>',
          '<ds:Transforms><ds:Transform Algorithm="http://www.w3.org/TR/1999/REC-xslt-19991116"/>',
        ),
    ],
    ['that is wide', (xml) => xml.replace('</samlp:Status>', `</samlp:Status>${'<a/>'.repeat(35_000)}`)],
    [
      'that is one open tag after another',
      (xml) => xml.replace('</samlp:Status>', `</samlp:Status>${'<"'.repeat(60_000)}`),
    ],
    [
      'with many names',
      (xml) =>
        xml.replace(
          '<saml:Subject>',
          `<saml:Subject ${Array.from({ length: 80 }, (_, n) => `xmlns:p${n}="u"`).join(' ')}>`,
        ),
    ],
    [
      'that is deep',
      (xml) => xml.replace('</samlp:Status>', `</samlp:Status>${'<a>'.repeat(20_000)}${'</a>'.repeat(20_000)}`),
    ],
    ['with an encrypted assertion', (xml) => xml.replaceAll('saml:Assertion', 'saml:EncryptedAssertion')],
    ['that is cut off', (xml) => xml.slice(0, 700)],
  ])('%s is rejected', async (_what, change) => {
    await refused(tamper(await corp.answer(), change));
  });

  it('is accepted with very many groups', async () => {
    const groups = Array.from({ length: 900 }, (_, number) => `group-${number}`);
    const person = { ...rita, attributes: { ...rita.attributes, groups } };
    expect((await corp.exchange(await corp.answer({}, flowOf(1), person))).groups).toEqual(groups);
  });

  it('with a comment is rejected even when the identity provider signed it', async () => {
    await refused(await corp.answer({ edit: comment }));
  });

  it.each([
    '',
    '!!!!',
    'AAAA',
    Buffer.from('<a/>').toString('base64'),
    Buffer.from('{}').toString('base64'),
    '/////w==',
  ])('that is not valid (%j) is rejected', async (SAMLResponse) => {
    await refused({ SAMLResponse, RelayState: flowOf(1).state });
  });

  it('with a negative status is a denial of the identity provider', async () => {
    const denied = tamper(await corp.answer(), (xml) =>
      xml
        .replace(assertionOf(xml), '')
        .replace('status:Success"/>', 'status:Responder"/><samlp:StatusMessage>the-message</samlp:StatusMessage>'),
    );
    const { message } = await refused(denied);
    expect(message).toBe('The identity provider denied the sign-in');
  });
});
