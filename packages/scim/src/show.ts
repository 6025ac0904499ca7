import type { ProvisionedGroup, ProvisionedUser } from '@belay/core';
import { groupSchema } from './group.js';
import { userSchema } from './user.js';

/** Returns a provisioned person as a SCIM resource. */
export function showUser(base: string, user: ProvisionedUser): Record<string, unknown> {
  const { id, userName, externalId, active, details, groups, createdAt, updatedAt } = user;
  return {
    schemas: [userSchema],
    id,
    ...(externalId === null ? {} : { externalId }),
    userName,
    active,
    ...details,
    ...(groups.length === 0
      ? {}
      : {
          groups: groups.map((group) => ({
            value: group.id,
            $ref: `${base}/Groups/${group.id}`,
            display: group.displayName,
          })),
        }),
    meta: metaOf('User', `${base}/Users/${id}`, { createdAt, updatedAt }),
  };
}

/** Returns a provisioned group as a SCIM resource. */
export function showGroup(base: string, group: ProvisionedGroup): Record<string, unknown> {
  const { id, displayName, externalId, members = [], createdAt, updatedAt } = group;
  return {
    schemas: [groupSchema],
    id,
    ...(externalId === null ? {} : { externalId }),
    displayName,
    ...(members.length === 0
      ? {}
      : {
          members: members.map((one) => ({ value: one.id, $ref: `${base}/Users/${one.id}` })),
        }),
    meta: metaOf('Group', `${base}/Groups/${id}`, { createdAt, updatedAt }),
  };
}

function metaOf(resourceType: string, location: string, times: { createdAt: Date; updatedAt: Date }) {
  const { createdAt, updatedAt } = times;
  return { resourceType, location, created: createdAt.toISOString(), lastModified: updatedAt.toISOString() };
}

/**
 * Returns a resource with the attributes that the query selects (RFC 7644, 3.9), and always with `id` and `schemas`.
 */
export function project(
  resource: Record<string, unknown>,
  { attributes, excluded }: { attributes: readonly string[]; excluded: readonly string[] },
): Record<string, unknown> {
  const always = new Set(['id', 'schemas']);
  const wanted = attributes.map(plainName);
  const unwanted = excluded.map(plainName);
  const entries = Object.entries(resource).filter(([key]) => {
    const name = key.toLowerCase();
    if (always.has(name)) return true;
    if (wanted.length > 0) return wanted.some((one) => one.split('.')[0] === name);
    return !unwanted.includes(name);
  });
  return Object.fromEntries(entries);
}

function plainName(attribute: string): string {
  const lower = attribute.trim().toLowerCase();
  const schema = [userSchema, groupSchema].find((one) => lower.startsWith(`${one.toLowerCase()}:`));
  return schema === undefined ? lower : lower.slice(schema.length + 1);
}
