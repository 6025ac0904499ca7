import { foldAddress } from '@belay/contract/address';
import type { ErrorIssue } from '@belay/contract/errors';
import type { CompiledRole } from './catalog.js';
import type { CatalogDocument, RoleDefinition } from './schema.js';

/** Returns who is told of the use of a role for emergencies. One that would tell no person is an issue, and so is one without a reason. */
export function readBreakGlass(
  { messages }: CatalogDocument,
  { break_glass: given, reason }: RoleDefinition,
  path: string,
  issues: ErrorIssue[],
): CompiledRole['breakGlass'] {
  if (given === undefined) return undefined;
  const { users = [], groups = [] } = given.tell;
  const problem = (at: string, message: string) => issues.push({ path: `${path}.${at}`, message });
  if (users.length + groups.length === 0) problem('break_glass.tell', 'must name a person or a group');
  if (reason?.required === false) problem('reason.required', 'must be true for a role with break_glass');
  if (messages?.kinds.includes('break_glass.used') !== true) {
    problem(
      'break_glass',
      'needs "messages" with channels, and with break_glass.used among its kinds where these are named',
    );
  }
  return { users: users.map((user) => foldAddress(user) ?? user), groups };
}
