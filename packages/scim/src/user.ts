import type { ProvisionedPerson } from '@belay/core';
import { invalidValue, ScimError } from './errors.js';
import { activeOf, type Body, fieldOf, listOf, textOf, toBody } from './fields.js';
import type { Equal } from './filter.js';
import { type Operation, readOperations } from './operations.js';
import { invalidPath } from './path.js';

export const userSchema = 'urn:ietf:params:scim:schemas:core:2.0:User';

type Email = NonNullable<ProvisionedPerson['details']['emails']>[number];
type Names = NonNullable<ProvisionedPerson['details']['name']>;

const longest = { userName: 320, externalId: 1_000, name: 256, email: 320, emails: 50 };
const parts = { formatted: 'formatted', familyname: 'familyName', givenname: 'givenName' } as const;
/** Attributes of RFC 7643, 3 and 4.1, that are accepted but not stored: data that Belay does not hold cannot be wrong. */
const ignored = new Set(
  `schemas id meta groups nickname profileurl title usertype preferredlanguage locale timezone password phonenumbers ims
  photos addresses entitlements roles x509certificates`.split(/\s+/),
);

/**
 * Returns the person that a whole resource describes, on POST and PUT. Without `active`, an existing person keeps their
 * state: an absent attribute never activates a person again. Throws 400 for a person that is not valid.
 */
export function readUser(body: Body, current?: ProvisionedPerson): ProvisionedPerson {
  for (const key of Object.keys(body)) {
    if (/:active$/i.test(key) || key.toLowerCase() === userSchema.toLowerCase()) {
      throw invalidValue(key.slice(0, 100), 'must be a plain attribute of the user');
    }
  }
  const active = fieldOf(body, 'active');
  const draft: Draft = {
    active: active === undefined ? (current?.active ?? true) : activeOf(active),
    userName: fieldOf(body, 'userName'),
    externalId: fieldOf(body, 'externalId'),
    displayName: fieldOf(body, 'displayName'),
    name: readNames(fieldOf(body, 'name') ?? {}),
    emails: readEmails(fieldOf(body, 'emails')),
  };
  return finish(draft);
}

/** Returns a person as a patch changes them. Throws 400 for a patch of which one operation is not valid. */
export function patchUser(body: Body, current: ProvisionedPerson): ProvisionedPerson {
  const { userName, externalId, active, details } = current;
  const draft: Draft = {
    active,
    userName,
    externalId,
    displayName: details.displayName,
    name: { ...details.name },
    emails: (details.emails ?? []).map((email) => ({ ...email })),
  };
  for (const operation of readOperations(body, userSchema)) apply(draft, operation);
  return finish(draft);
}

interface Draft {
  active: boolean;
  userName: unknown;
  externalId: unknown;
  displayName: unknown;
  name: Names;
  emails: Email[];
}

function finish({ active, userName, externalId, displayName, name, emails }: Draft): ProvisionedPerson {
  const called = textOf(userName, 'userName', longest.userName)?.trim() ?? '';
  if (called === '') throw invalidValue('userName', 'is required');
  const shown = textOf(displayName, 'displayName', longest.name);
  if (emails.length > longest.emails) throw invalidValue('emails', `must have at most ${longest.emails} entries`);
  return {
    active,
    userName: called,
    externalId: textOf(externalId, 'externalId', longest.externalId),
    details: {
      ...(shown === null ? {} : { displayName: shown }),
      ...(Object.keys(name).length === 0 ? {} : { name }),
      ...(emails.length === 0 ? {} : { emails }),
    },
  };
}

function apply(draft: Draft, { op, path, value }: Operation): void {
  const { attribute, filter, sub, foreign } = path;
  if (foreign) return;
  if (attribute === 'emails') {
    applyEmails(draft, { op, path, value });
    return;
  }
  if (filter !== undefined) {
    if (ignored.has(attribute)) return;
    throw invalidPath(attribute);
  }
  if (attribute === 'name') {
    applyNames(draft, op, sub, value);
    return;
  }
  if (ignored.has(attribute)) return;
  if (sub !== undefined) throw invalidPath(`${attribute}.${sub}`);
  if (attribute === 'active') {
    // SCIM does not define whether a person without the attribute is active.
    if (op === 'remove') throw invalidValue('active', 'cannot be removed; set it to true or false');
    draft.active = activeOf(value);
  } else if (attribute === 'username') draft.userName = op === 'remove' ? null : value;
  else if (attribute === 'externalid') draft.externalId = op === 'remove' ? null : value;
  else if (attribute === 'displayname') draft.displayName = op === 'remove' ? null : value;
  else throw invalidPath(attribute);
}

function readNames(value: unknown): Names {
  const body = toBody(value ?? {}, 'name');
  const name: Names = {};
  for (const [key, part] of Object.entries(parts)) {
    const text = textOf(fieldOf(body, key), `name.${part}`, longest.name);
    if (text !== null) name[part] = text;
  }
  return name;
}

function applyNames(draft: Draft, op: Operation['op'], sub: string | undefined, value: unknown): void {
  if (sub === undefined) {
    draft.name = op === 'remove' ? {} : { ...draft.name, ...readNames(value) };
    return;
  }
  if (!(sub in parts)) return;
  const part = parts[sub as keyof typeof parts];
  const text = op === 'remove' ? null : textOf(value, `name.${part}`, longest.name);
  const { [part]: _, ...others } = draft.name;
  draft.name = text === null ? others : { ...others, [part]: text };
}

function readEmails(value: unknown): Email[] {
  return listOf(value).map((one) => readEmail(toBody(one, 'emails')));
}

function readEmail(body: Body): Email {
  const value = textOf(fieldOf(body, 'value'), 'emails.value', longest.email);
  const type = textOf(fieldOf(body, 'type'), 'emails.type', longest.name);
  const primary = fieldOf(body, 'primary');
  if (value === null || value === '') throw invalidValue('emails.value', 'is required');
  return {
    value,
    ...(type === null ? {} : { type }),
    ...(primary === undefined || primary === null ? {} : { primary: flagOf(primary) }),
  };
}

function flagOf(value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  if (typeof value === 'string' && /^(true|false)$/i.test(value)) return value.toLowerCase() === 'true';
  throw invalidValue('emails.primary', 'must be true or false');
}

function applyEmails(draft: Draft, { op, path: { filter, sub }, value }: Operation): void {
  const chosen = (email: Email) => filter === undefined || filter.every((equal) => isEqual(email, equal));
  if (sub === undefined && filter === undefined) {
    if (op === 'remove') {
      const gone = listOf(value).map((one) => readEmail(toBody(one, 'emails')).value);
      draft.emails = gone.length === 0 ? [] : draft.emails.filter((email) => !gone.includes(email.value));
    } else {
      const given = readEmails(value);
      const kept = op === 'replace' ? [] : draft.emails.filter((one) => given.every((two) => two.value !== one.value));
      draft.emails = [...kept, ...given];
    }
    return;
  }
  if (op === 'remove') {
    draft.emails = draft.emails.flatMap((email) => {
      if (!chosen(email)) return [email];
      if (sub === undefined || sub === 'value') return [];
      const { type, primary, ...rest } = email;
      return [{ ...rest, ...(sub === 'type' ? { primary } : { type }) } as Email];
    });
    return;
  }
  if (sub !== undefined && !['value', 'type', 'primary'].includes(sub)) return;
  const change = sub === undefined ? toBody(value, 'emails') : { [sub]: value };
  if (draft.emails.some(chosen)) {
    draft.emails = draft.emails.map((email) => (chosen(email) ? readEmail({ ...email, ...change }) : email));
  } else {
    // Entra sets an address by its type before an address of this type exists.
    const implied = Object.fromEntries((filter ?? []).map((equal) => [equal.path, equal.value]));
    draft.emails = [...draft.emails, readEmail({ ...implied, ...change })];
  }
}

function isEqual(email: Email, { path, value }: Equal): boolean {
  if (path === 'value') return typeof value === 'string' && email.value.toLowerCase() === value.toLowerCase();
  if (path === 'type') return typeof value === 'string' && email.type?.toLowerCase() === value.toLowerCase();
  if (path === 'primary') return String(email.primary ?? false) === String(value).toLowerCase();
  throw new ScimError(400, 'path: emails can be chosen by type, value or primary', 'invalidPath');
}
