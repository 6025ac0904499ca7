import { foldAddress } from '@belay/contract/address';
import type { ErrorIssue } from '@belay/contract/errors';
import { readDuration } from '../duration.js';
import { timing } from '../timing.js';
import type { CompiledRole } from './catalog.js';
import type { CatalogDocument, MessagesDefinition, RoleDefinition } from './schema.js';

/**
 * Returns who is told of the use of an emergency role, and who reviews it; undefined for any other role. Adds an issue
 * when no person would be told, when no person could review it, when the time for the review is not valid, or when the
 * reason is not required.
 */
export function readBreakGlass(
  { messages }: CatalogDocument,
  { break_glass: given, reason }: RoleDefinition,
  path: string,
  issues: ErrorIssue[],
): CompiledRole['breakGlass'] {
  if (given === undefined) return undefined;
  const problem = (at: string, message: string) => issues.push({ path: `${path}.${at}`, message });
  const read = ({ users = [], groups = [] }: typeof given.tell, at: string) => {
    if (users.length + groups.length === 0) problem(at, 'must name a person or a group');
    return { users: users.map((user) => foldAddress(user) ?? user), groups };
  };
  const requireKind = (kind: MessagesDefinition['kinds'][number], at: string) => {
    if (messages?.kinds.includes(kind)) return;
    problem(at, `requires messages.channels; messages.kinds, if it is set, must contain ${kind}`);
  };
  const tell = read(given.tell, 'break_glass.tell');
  if (reason?.required === false) problem('reason.required', 'must be true for a role with break_glass');
  requireKind('break_glass.used', 'break_glass');
  const { review } = given;
  if (review === undefined) return tell;
  const by = read(review.by, 'break_glass.review.by');
  if (messages !== undefined) requireKind('review.opened', 'break_glass.review');
  const within = readDuration(review.within, `${path}.break_glass.review.within`, issues) ?? 0;
  // A review in the distant future is forgotten, and a date that cannot be stored would stop the access.
  if (within > timing.year) problem('break_glass.review.within', 'must be at most P366D');
  return { ...tell, review: { ...by, within } };
}
