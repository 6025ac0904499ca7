import type { Inserted } from './inserted.js';

export const providers = {
  authenticator: 'sign-in',
  authorizer: 'access',
  identities: 'identities',
  notifications: 'notifications',
  title: 'Systems',
  lead: 'The systems where you can sign in or request access.',
  empty: 'No systems that you can use',
  rolesOfSystem: 'Roles in this system',
  noRoles: 'No roles that can be granted',
  moreRoles: (count: Inserted) => `${count} more roles`,
  name: 'Name',
  description: 'Description',
  requestableRoles: 'Roles you can request here',
  identifier: 'Identifier',
  type: 'Type',
  usedFor: 'Used for',
} as const;
