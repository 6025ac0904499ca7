import type { ProvisionedCrowd } from '@belay/core';
import { invalidValue, ScimError } from './errors.js';
import { type Body, fieldOf, listOf, textOf } from './fields.js';
import { type Operation, readOperations } from './operations.js';
import { invalidPath } from './path.js';

export const groupSchema = 'urn:ietf:params:scim:schemas:core:2.0:Group';

const longest = { displayName: 1_000, externalId: 1_000, id: 100 };

/** Returns the group that a whole resource describes, on POST and PUT. Throws 400 for a group that is not valid. */
export function readGroup(body: Body): ProvisionedCrowd {
  const displayName = fieldOf(body, 'displayName');
  return finish({
    displayName,
    externalId: fieldOf(body, 'externalId'),
    members: readMembers(fieldOf(body, 'members')),
  });
}

/** Returns a group as a patch changes it. Throws 400 for a patch of which one operation is not valid. */
export function patchGroup(body: Body, current: ProvisionedCrowd): ProvisionedCrowd {
  const draft: Draft = { ...current };
  for (const operation of readOperations(body, groupSchema)) apply(draft, operation);
  return finish(draft);
}

interface Draft {
  displayName: unknown;
  externalId: unknown;
  members: string[];
}

function finish({ displayName, externalId, members }: Draft): ProvisionedCrowd {
  const called = textOf(displayName, 'displayName', longest.displayName) ?? '';
  if (called.trim() === '') throw invalidValue('displayName', 'is required');
  return {
    displayName: called,
    externalId: textOf(externalId, 'externalId', longest.externalId),
    members: [...new Set(members)],
  };
}

function apply(draft: Draft, { op, path, value }: Operation): void {
  const { attribute, filter, sub, foreign } = path;
  if (foreign || ['schemas', 'id', 'meta'].includes(attribute)) return;
  if (attribute === 'members') {
    applyMembers(draft, { op, path, value });
    return;
  }
  if (filter !== undefined || sub !== undefined) throw invalidPath(attribute);
  if (attribute === 'displayname') draft.displayName = op === 'remove' ? null : value;
  else if (attribute === 'externalid') draft.externalId = op === 'remove' ? null : value;
  else throw invalidPath(attribute);
}

function applyMembers(draft: Draft, { op, path: { filter, sub }, value }: Operation): void {
  if (sub !== undefined && sub !== 'value') throw invalidPath(`members.${sub}`);
  if (filter !== undefined) {
    if (op !== 'remove') throw new ScimError(400, 'path: members with a filter can only be removed', 'invalidPath');
    const gone = filter.map((equal) => {
      if (equal.path !== 'value' || typeof equal.value !== 'string') throw invalidPath('members');
      return equal.value;
    });
    draft.members = draft.members.filter((id) => !gone.every((one) => one === id));
    return;
  }
  const given = readMembers(value);
  if (op === 'replace') draft.members = given;
  else if (op === 'add') draft.members = [...draft.members, ...given];
  // Without a value, all members are removed, as RFC 7644 says.
  else draft.members = value === undefined || value === null ? [] : draft.members.filter((id) => !given.includes(id));
}

function readMembers(value: unknown): string[] {
  return listOf(value).map((one) => {
    const id = typeof one === 'object' && one !== null ? fieldOf(one as Body, 'value') : one;
    const text = textOf(id, 'members.value', longest.id);
    if (text === null || text === '') throw invalidValue('members.value', 'is required');
    return text;
  });
}
