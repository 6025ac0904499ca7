import { createHash, timingSafeEqual } from 'node:crypto';

/** A person who can sign in at the demo identity provider. Without a password, choosing the name is enough. */
export interface DemoAccount {
  subject: string;
  email: string;
  name: string;
  groups: readonly string[];
  password?: string;
}

/** Returns the person with this subject if the password is right or none is needed. */
export function recognisePerson(
  people: readonly DemoAccount[],
  subject: string,
  password: string,
): DemoAccount | undefined {
  const person = people.find((one) => one.subject === subject);
  if (!person) return undefined;
  if (person.password !== undefined && !timingSafeEqual(digest(person.password), digest(password))) return undefined;
  return person;
}

/** Returns the claims of a person in ID token and userinfo (OpenID Connect Core, section 5.1). */
export function claimsOf(person: DemoAccount): { sub: string; [claim: string]: string | boolean | string[] } {
  const { subject, email, name, groups } = person;
  return { sub: subject, email, email_verified: true, name, groups: [...groups] };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
