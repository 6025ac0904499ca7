import { z } from 'zod';
import { Terminal } from '../errors.js';

const content = z.object({ _: z.string().optional() });
const attribute = z.object({
  $: z.object({ Name: z.string() }),
  AttributeValue: z.array(z.union([content, z.string()])).optional(),
});
const one = <Item extends z.ZodType>(item: Item) => z.tuple([item]).transform(([only]) => only);

/**
 * The part of a signed assertion that is read (SAML 2.0 Core, 2.3.3), in the form of node-saml's parser. Elements that
 * decide must occur exactly once.
 */
const parsed = z.object({
  Assertion: z.object({
    $: z.object({ Version: z.literal('2.0') }),
    Issuer: one(content),
    Subject: one(
      z.object({
        NameID: one(
          z.object({ _: z.string().min(1), $: z.object({ Format: z.string().optional() }).optional() }),
        ).optional(),
        SubjectConfirmation: one(
          z.object({
            $: z.object({ Method: z.string() }),
            SubjectConfirmationData: one(
              z.object({ $: z.object({ Recipient: z.string(), InResponseTo: z.string(), NotOnOrAfter: z.string() }) }),
            ),
          }),
        ),
      }),
    ),
    Conditions: one(z.object({ $: z.object({ NotOnOrAfter: z.string() }) })),
    AuthnStatement: z
      .array(z.object({ $: z.object({ SessionNotOnOrAfter: z.string().optional() }).optional() }))
      .min(1),
    // The parser returns an element without XML attributes and children as a text.
    AttributeStatement: z
      .array(z.union([z.object({ Attribute: z.array(attribute).optional() }), z.string()]))
      .optional(),
  }),
});

export interface Assertion {
  nameId: { value: string; format: string | undefined } | undefined;
  attributes: ReadonlyMap<string, string[]>;
  /** When the session at the identity provider ends, if it states that. */
  endsAt: Date | undefined;
}

/**
 * Reads an assertion with a valid signature, times and audience, and checks the rest: its issuer, its recipient, and
 * the request that it responds to (SAML 2.0 Profiles, 4.1.4.2 and 4.1.4.3). Throws `Terminal`.
 */
export function readAssertion(
  assertion: unknown,
  expected: { idpEntityId: string; recipient: string; requestId: string },
): Assertion {
  const read = parsed.safeParse(assertion);
  if (!read.success) throw refused(read.error);
  const { Issuer, Subject, AuthnStatement, AttributeStatement = [] } = read.data.Assertion;
  const { $: confirmation, SubjectConfirmationData } = Subject.SubjectConfirmation;
  const { Recipient, InResponseTo } = SubjectConfirmationData.$;
  if (Issuer._ !== expected.idpEntityId) throw refused('the issuer is not the identity provider');
  if (confirmation.Method !== 'urn:oasis:names:tc:SAML:2.0:cm:bearer')
    throw refused('the confirmation method is not bearer');
  if (Recipient !== expected.recipient) throw refused('the recipient is not this service');
  if (InResponseTo !== expected.requestId) throw refused('it is the response to another request');
  const ends = AuthnStatement.map(({ $ }) => $?.SessionNotOnOrAfter).filter((time) => time !== undefined);
  const times = ends.map((time) => Date.parse(time));
  if (times.some(Number.isNaN)) throw refused('SessionNotOnOrAfter is not a time');
  const { NameID } = Subject;
  return {
    nameId: NameID && { value: NameID._, format: NameID.$?.Format },
    attributes: attributesOf(
      AttributeStatement.flatMap((one) => (typeof one === 'string' ? [] : (one.Attribute ?? []))),
    ),
    endsAt: times.length === 0 ? undefined : new Date(Math.min(...times)),
  };
}

function attributesOf(given: z.output<typeof attribute>[]): Map<string, string[]> {
  const attributes = new Map<string, string[]>();
  for (const { $, AttributeValue = [] } of given) {
    const values = AttributeValue.map((value) => (typeof value === 'string' ? value : (value._ ?? ''))).filter(Boolean);
    attributes.set($.Name, [...(attributes.get($.Name) ?? []), ...values]);
  }
  return attributes;
}

function refused(cause: unknown): Terminal {
  return new Terminal("The identity provider's response failed validation", { cause });
}
