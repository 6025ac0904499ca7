import samlify from 'samlify';
import { type Certified, createCertified } from './certified.js';

// samlify requires a validator of schemas. The tests need no validation.
samlify.setSchemaValidator({ validate: async () => 'not validated' });

export interface SamlPerson {
  nameId: string;
  attributes: Record<string, string[]>;
}

/** The content of a response; a test changes one value. */
export interface Said {
  issuer?: string;
  audience?: string;
  recipient?: string;
  inResponseTo?: string;
  /** The `InResponseTo` of the response, which is not signed. */
  outerInResponseTo?: string;
  method?: string;
  nameIdFormat?: string;
  /** Milliseconds from now. */
  from?: number;
  until?: number;
  sessionUntil?: number;
  /** Changes the assertion before it is signed. */
  edit?(xml: string): string;
  /** The key that signs, instead of the provider's own. */
  key?: Certified;
  algorithm?: string;
}

export interface Posted {
  SAMLResponse: string;
  RelayState: string;
}

const persistent = 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent';
const template = [
  '<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"',
  ' ID="{ID}" Version="2.0" IssueInstant="{Now}" Destination="{Recipient}" InResponseTo="{OuterInResponseTo}">',
  '<saml:Issuer>{Issuer}</saml:Issuer>',
  '<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>',
  '<saml:Assertion ID="{AssertionID}" Version="2.0" IssueInstant="{Now}"><saml:Issuer>{Issuer}</saml:Issuer>',
  '<saml:Subject><saml:NameID Format="{NameIDFormat}">{NameID}</saml:NameID>',
  '<saml:SubjectConfirmation Method="{Method}"><saml:SubjectConfirmationData NotOnOrAfter="{Until}"',
  ' Recipient="{Recipient}" InResponseTo="{InResponseTo}"/></saml:SubjectConfirmation></saml:Subject>',
  '<saml:Conditions NotBefore="{From}" NotOnOrAfter="{Until}"><saml:AudienceRestriction>',
  '<saml:Audience>{Audience}</saml:Audience></saml:AudienceRestriction></saml:Conditions>',
  '<saml:AuthnStatement AuthnInstant="{Now}" SessionIndex="s1" SessionNotOnOrAfter="{SessionUntil}"><saml:AuthnContext>',
  '<saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef>',
  '</saml:AuthnContext></saml:AuthnStatement><saml:AttributeStatement>{ATTRIBUTES}</saml:AttributeStatement>',
  '</saml:Assertion></samlp:Response>',
].join('');

/** One key for all identity providers, because making an RSA key takes longer than a sign-in. */
const own = createCertified('idp.example.test');

/** Returns a SAML 2.0 identity provider, which reads our requests from the browser's address and signs its responses. */
export function createSamlIdentityProvider(
  options: { wantsSigned?: boolean; signsResponses?: boolean; entryPoint?: string } = {},
) {
  const entityId = 'https://idp.example.test/metadata';
  const { wantsSigned = false, signsResponses = false, entryPoint = 'http://127.0.0.1:9/sso' } = options;

  const redirect = { Binding: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect', Location: entryPoint };

  const speak = (key: Certified, algorithm = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256') =>
    samlify.IdentityProvider({
      entityID: entityId,
      privateKey: key.privateKey,
      signingCert: key.certificate,
      requestSignatureAlgorithm: algorithm,
      wantAuthnRequestsSigned: wantsSigned,
      messageSigningOrder: 'sign-then-encrypt',
      loginResponseTemplate: { context: template, attributes: [] },
      singleSignOnService: [redirect],
      // Without this service samlify writes a warning to stderr.
      singleLogoutService: [redirect],
    } as Parameters<typeof samlify.IdentityProvider>[0]);

  return {
    entityId,
    entryPoint,
    ...own,
    /** Returns the response to the request in `address`, for the service that `metadata` describes. */
    async answer(address: string | URL, metadata: string, person: SamlPerson, said: Said = {}): Promise<Posted> {
      const query = Object.fromEntries(new URL(address).searchParams);
      const service = samlify.ServiceProvider({ metadata, wantMessageSigned: signsResponses });
      const octetString = new URL(address).search
        .slice(1)
        .split('&')
        .filter((part) => /^(SAMLRequest|RelayState|SigAlg)=/.test(part))
        .join('&');
      const idp = speak(said.key ?? own, said.algorithm);
      const request = await idp.parseLoginRequest(service, 'redirect', { query, octetString });
      const asked = { extract: request.extract as { request: { id: string }; issuer: string } };
      const recipient = service.entityMeta.getAssertionConsumerService('post') as string;
      const at = (milliseconds: number) => new Date(Date.now() + milliseconds).toISOString();
      const tags = {
        ID: `_r${asked.extract.request.id}`,
        AssertionID: `_a${asked.extract.request.id}`,
        Now: at(0),
        From: at(said.from ?? 0),
        Until: at(said.until ?? 300_000),
        SessionUntil: at(said.sessionUntil ?? 3_600_000),
        Issuer: said.issuer ?? entityId,
        Audience: said.audience ?? asked.extract.issuer,
        Recipient: said.recipient ?? recipient,
        InResponseTo: said.inResponseTo ?? asked.extract.request.id,
        OuterInResponseTo: said.outerInResponseTo ?? asked.extract.request.id,
        Method: said.method ?? 'urn:oasis:names:tc:SAML:2.0:cm:bearer',
        NameIDFormat: said.nameIdFormat ?? persistent,
        NameID: person.nameId,
      };
      const fill = (text: string) => {
        const filled = samlify.SamlLib.replaceTagsByValue(text, tags).replace('{ATTRIBUTES}', attributesOf(person));
        return { id: tags.ID, context: said.edit?.(filled) ?? filled };
      };
      const made = (await idp.createLoginResponse(service, asked, 'post', {}, { customTagReplacement: fill })) as {
        context: string;
      };
      return { SAMLResponse: made.context, RelayState: query.RelayState ?? '' };
    },
  };
}

function attributesOf({ attributes }: SamlPerson): string {
  return Object.entries(attributes)
    .map(([name, values]) => {
      const written = values.map((value) => `<saml:AttributeValue>${escaped(value)}</saml:AttributeValue>`).join('');
      return `<saml:Attribute Name="${escaped(name)}">${written}</saml:Attribute>`;
    })
    .join('');
}

function escaped(text: string): string {
  return text.replace(/[<>&"]/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Changes the signed content, as an attacker in the middle would. */
export function tamper(posted: Posted, change: (xml: string) => string): Posted {
  const xml = Buffer.from(posted.SAMLResponse, 'base64').toString();
  const changed = change(xml);
  if (changed === xml) throw new Error('Nothing was changed');
  return { ...posted, SAMLResponse: Buffer.from(changed).toString('base64') };
}
